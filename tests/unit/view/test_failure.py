"""A failure ends with what to do; a bug ends in a file, without anybody's values."""

from __future__ import annotations

import errno
import json
import sys
from pathlib import Path

import pytest

from dsctl.core.errors import Interrupted, NotReady, Problem, ProfileInvalid, TeardownUnconfirmed
from dsctl.view.failure import report, text
from tests.terminals import Gone, Terminal

_FAILED = NotReady(
    "launch/decode0/ready: not done within 300 s",
    hint="dsctl logs lab decode0",
    context=("--- the end of decode0.log", "\x1b[31mRuntimeError\x1b[0m: no memory\x07"),
    still_running=("run lab (k3x9qz)",),
)


def _bug() -> Exception:
    api_key = "hf_" + "s" * 20
    try:
        raise KeyError("boom") if api_key else AssertionError
    except KeyError as error:
        return error


def test_the_next_command_comes_last() -> None:
    assert text(_FAILED, colour=False) == (
        "  --- the end of decode0.log\n"
        "  RuntimeError: no memory\n"
        "still running: run lab (k3x9qz)\n"
        "error: launch/decode0/ready: not done within 300 s\n"
        "hint: dsctl logs lab decode0\n"
    )


def test_no_hint_no_line() -> None:
    assert text(NotReady("late"), colour=False) == "error: late\n"
    assert text(NotReady("late"), colour=True) == "\x1b[31m\x1b[1merror:\x1b[0m late\n"


def test_every_mistake_of_a_profile_has_its_line() -> None:
    error = ProfileInvalid((Problem("p.yaml:3", "kv.mover", "unknown", "did you mean none?"),))
    assert text(error, colour=False).splitlines()[0] == "  p.yaml:3: kv.mover: unknown (did you mean none?)"


@pytest.mark.parametrize(
    ("error", "status"), [(_FAILED, 7), (TeardownUnconfirmed("x"), 10), (Interrupted(15), 143), (ValueError("x"), 1)]
)
def test_exit_status(error: Exception, status: int, capsys: pytest.CaptureFixture[str]) -> None:
    assert report(error, as_json=False) == status
    said = capsys.readouterr()
    assert said.out == ""
    assert "error: " in said.err


def test_json_ends_with_one_object_and_stderr_still_talks(capsys: pytest.CaptureFixture[str]) -> None:
    report(_FAILED, as_json=True)
    said = capsys.readouterr()
    document = json.loads(said.out)
    assert list(document) == ["schema", "code", "exit", "message", "hint", "context", "still_running"]
    assert (document["schema"], document["code"], document["exit"]) == ("dsctl.error/1", "not-ready", 7)
    assert document["still_running"] == ["run lab (k3x9qz)"]
    assert said.err.endswith("hint: dsctl logs lab decode0\n")


def test_a_bug_is_in_a_private_file_and_shows_no_values(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert report(_bug(), as_json=False) == 1
    (crash,) = (tmp_path / "state" / "crashes").iterdir()
    assert crash.stat().st_mode & 0o777 == 0o600
    assert "KeyError: 'boom'" in crash.read_text()
    assert "hf_ss" not in crash.read_text()
    said = capsys.readouterr().err
    assert said.splitlines() == [
        "error: a bug in dsctl: KeyError: 'boom'",
        f"hint: please report it with {crash}",
    ]


def test_a_bug_without_a_place_to_write_is_told_at_once(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("DSCTL_STATE_DIR", str(tmp_path / "file"))
    assert report(_bug(), as_json=False) == 1
    said = capsys.readouterr().err
    assert said.startswith("Traceback")
    assert said.endswith("hint: please report it with the lines above\n")


def test_the_status_holds_when_nobody_listens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", Gone())
    monkeypatch.setattr(sys, "stderr", Gone(errno.EIO))
    assert report(TeardownUnconfirmed("x"), as_json=True) == 10


def test_a_terminal_gets_colour(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys, "stderr", stream := Terminal())
    report(_FAILED, as_json=False)
    assert "\x1b[31m" in stream.getvalue()
