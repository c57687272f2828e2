"""Where words go in each mode, with and without a terminal."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys

import pytest

from dsctl.core.errors import UsageFault
from dsctl.view.sink import Mode, Out, moves, open_out, styled
from tests.story import whole
from tests.terminals import Gone, Terminal

_COLUMNS, _ROWS = ("run", "name"), [["k3x9qz", "lab"], ["abc123", "other"]]


def _all_verbs(mode: Mode, *, tty: bool) -> tuple[str, str]:
    answer, talk = Terminal(tty=tty), Terminal(tty=tty)
    out = Out(mode, answer, talk)
    out.document("dsctl.x/1", {"a": 1})
    out.table(_COLUMNS, _ROWS)
    out.record({"run": "lab", "endpoint": "here"})
    out.say("a sentence")
    out.hint("dsctl ps")
    out.success("done")
    out.warn("careful")
    return answer.getvalue(), talk.getvalue()


def test_plain() -> None:
    answer, talk = _all_verbs("plain", tty=False)
    assert answer == "run     name\nk3x9qz  lab\nabc123  other\n  run       lab\n  endpoint  here\na sentence\n"
    assert talk == "hint: dsctl ps\ndone\nwarning: careful\n"


def test_human_is_plain_with_styles() -> None:
    answer, talk = _all_verbs("human", tty=True)
    assert answer.startswith("\x1b[1mrun     name\x1b[0m\nk3x9qz  lab\n")
    assert talk == "\x1b[2mhint: \x1b[0mdsctl ps\n\x1b[32mdone\x1b[0m\n\x1b[33mwarning: careful\x1b[0m\n"


@pytest.mark.parametrize(("variable", "value"), [("NO_COLOR", "1"), ("TERM", "dumb")])
def test_no_styles_when_they_are_not_wanted(monkeypatch: pytest.MonkeyPatch, variable: str, value: str) -> None:
    monkeypatch.setenv(variable, value)
    answer, talk = _all_verbs("human", tty=True)
    assert "\x1b" not in answer + talk


def test_json_is_one_document_whose_first_key_is_the_schema() -> None:
    answer, talk = _all_verbs("json", tty=True)
    assert answer == '{"schema": "dsctl.x/1", "a": 1}\n'
    assert "careful" in talk
    assert "done" not in talk


def test_quiet_is_ids_only() -> None:
    assert _all_verbs("quiet", tty=False) == ("k3x9qz\nabc123\n", "warning: careful\n")


@pytest.mark.parametrize(("variable", "value"), [("CI", "true"), ("DSCTL_PLAIN", "1"), ("TERM", "dumb")])
def test_what_keeps_the_screen_still(monkeypatch: pytest.MonkeyPatch, variable: str, value: str) -> None:
    monkeypatch.setenv("TERM", "xterm")
    assert moves(Terminal())
    monkeypatch.setenv(variable, value)
    assert not moves(Terminal())


def test_without_a_terminal_nothing_moves_or_shines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert not moves(Terminal(tty=False))
    assert not styled(Terminal(tty=False))
    assert styled(Terminal())


@pytest.mark.parametrize(
    ("json_asked", "quiet", "tty", "mode"),
    [
        (True, False, True, "json"),
        (True, True, True, "json"),
        (False, True, True, "quiet"),
        (False, False, True, "human"),
        (False, False, False, "plain"),
    ],
)
def test_open_out(monkeypatch: pytest.MonkeyPatch, json_asked: bool, quiet: bool, tty: bool, mode: str) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys, "stderr", Terminal(tty=tty))
    assert open_out(json=json_asked, quiet=quiet).mode == mode


@pytest.mark.parametrize(
    ("typed", "answer"), [("y\n", True), ("YES\n", True), ("n\n", False), ("\n", False), ("", False), ("yep\n", False)]
)
def test_confirm(monkeypatch: pytest.MonkeyPatch, typed: str, answer: bool) -> None:
    monkeypatch.setattr(sys, "stdin", Terminal(typed))
    out = Out("human", Terminal(), talk := Terminal())
    assert out.confirm("Tear down lab?") is answer
    assert talk.getvalue() == "Tear down lab? [y/N] "


@pytest.mark.parametrize(("stdin", "stderr"), [(True, False), (False, True), (False, False)])
def test_nobody_is_asked_who_cannot_answer(monkeypatch: pytest.MonkeyPatch, stdin: bool, stderr: bool) -> None:
    monkeypatch.setattr(sys, "stdin", Terminal("y\n", tty=stdin))
    talk = Terminal(tty=stderr)
    with pytest.raises(UsageFault) as raised:
        Out("human", Terminal(), talk).confirm("Tear down lab?")
    assert (raised.value.hint, talk.getvalue()) == ("pass --yes", "")


def test_require_refuses_on_no(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", Terminal("n\n"))
    with pytest.raises(UsageFault, match="nothing was done"):
        Out("human", Terminal(), Terminal()).require("Bring it up?")


@pytest.mark.parametrize("mode", ["human", "plain", "json", "quiet"])
@pytest.mark.parametrize("number", [errno.EPIPE, errno.EIO])
def test_a_reader_that_left_stops_nothing(mode: Mode, number: int) -> None:
    """A lost terminal must not end the teardown that its hang-up began."""
    out = Out(mode, Gone(number), Gone(number, tty=True))
    with out.watching() as sink:
        for one in whole():
            sink(one)
    out.document("dsctl.x/1", {})
    out.table(_COLUMNS, _ROWS)
    out.warn("careful")


def test_a_full_disk_under_stdout_is_said() -> None:
    with pytest.raises(OSError, match="No space"):
        Out("plain", Gone(errno.ENOSPC), Terminal()).say("answer")


def test_watching_json_gives_lines_and_nothing_else() -> None:
    out = Out("json", answer := Terminal(), talk := Terminal())
    with out.watching() as sink:
        for one in whole():
            sink(one)
    lines = [json.loads(line) for line in answer.getvalue().splitlines()]
    assert [line["kind"] for line in lines] == [one.kind for one in whole()]
    assert all(next(iter(line)) == "schema" for line in lines)
    assert talk.getvalue() == ""


def test_watching_quietly_shows_nothing() -> None:
    out = Out("quiet", answer := Terminal(), talk := Terminal())
    with out.watching() as sink:
        for one in whole():
            sink(one)
    assert answer.getvalue() + talk.getvalue() == ""


def test_a_closed_pipe_ends_a_real_process_without_noise() -> None:
    """The reader takes one line of many and leaves; exit status 0 and an empty stderr, also from the interpreter."""
    code = "from dsctl.view.sink import open_out\nout = open_out()\nfor n in range(100000): out.say(str(n))"
    with subprocess.Popen(
        (sys.executable, "-c", code), stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ, "CI": "1"}
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline() == b"0\n"
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(60) == 0
