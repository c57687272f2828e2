"""What the runbook shows to copy does, in a real shell, what the step did."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dsctl.model.step import Expect, Put, Run, Step
from dsctl.runbook.commands import shell_text

_TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\0\r"), max_size=60)


def _step(action: Run | Put, **more: object) -> Step:
    return Step(id="launch/x/y", phase="launch", role="x", title="Do it", action=action, **more)  # type: ignore[arg-type]


def _shell(text: str) -> bytes:
    return subprocess.run(["bash", "-c", text], capture_output=True, check=True, timeout=30).stdout


@settings(max_examples=25, deadline=None)
@given(words=st.lists(_TEXT, min_size=1, max_size=4))
def test_words_arrive_as_they_are(words: list[str]) -> None:
    text = shell_text([_step(Run(("printf", r"%s\0", *words)))], {})
    assert _shell(text) == b"".join(word.encode() + b"\0" for word in words)


@settings(max_examples=25, deadline=None)
@given(text=_TEXT, lines=st.lists(st.sampled_from(["DSCTL_END", "DSCTL_END_", "", "$HOME `date`"]), max_size=3))
def test_a_put_file_has_the_same_bytes(tmp_path_factory: pytest.TempPathFactory, text: str, lines: list[str]) -> None:
    path = tmp_path_factory.mktemp("put") / "a b" / "file"
    for content in (text, "\n".join((*lines, text)) + "\n"):
        _shell(shell_text([_step(Put(str(path), content))], {}))
        assert path.read_bytes() == content.encode()


@pytest.mark.parametrize("word", ['{"a":1}', "{1,2}", "*", "$(id)", "a;b", "~", "", "{run.dir}"])
def test_slots_without_a_value_stay_and_braces_are_not_expanded(word: str) -> None:
    assert _shell(shell_text([_step(Run(("printf", "%s", word)))], {})) == word.encode()


def test_block_reads_well() -> None:
    step = _step(
        Run(("{box.python}", "-m", "x", "--token", "$HF_TOKEN"), {"B": "2 3", "A": "{run.dir}"}),
        guard=("test", "-f", "{run.dir}/x y"),
        expect=(Expect("n", ">=", 1),),
    )
    assert shell_text([step], {"run.dir": "/srv"}) == (
        "# launch/x/y: Do it\n"
        "#   already done when: test -f '/srv/x y'\n"
        "#   must hold: n >= 1\n"
        "A=/srv B='2 3' {box.python} -m x --token \"$HF_TOKEN\"\n"
    )


def test_a_file_of_the_package_is_named_with_its_digest() -> None:
    text = shell_text([_step(Put("{run.dir}/bin/sweep.py", source="box/sweep.py", sha256="ab"))], {"run.dir": "/srv"})
    assert '/box/sweep.py" /srv/bin/sweep.py   # sha256 ab' in text


def test_a_file_of_the_package_is_really_found(tmp_path: Path) -> None:
    text = shell_text([_step(Put(str(tmp_path / "sub" / "s.py"), source="box/sweep.py", sha256="ab"))], {})
    _shell(text.replace("python3", __import__("sys").executable))
    assert (tmp_path / "sub" / "s.py").read_bytes() == Path("dsctl/box/sweep.py").resolve().read_bytes()
