"""The journal survives cuts, full disks, several writers and edits, and says so."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dsctl.core.errors import DsctlError
from dsctl.model.event import Event
from dsctl.runbook.journal import FILE, ORIGIN, TORN, Journal, being_written, first, read, verify
from tests.story import event, opened

_WRITER = """
import sys
from pathlib import Path
from dsctl.model.event import Event
from dsctl.runbook.journal import Journal
journal = Journal.open(Path(sys.argv[1]))
for number in range(int(sys.argv[3])):
    journal.append(Event("phase.started", "2026-12-01T09:00:00.000Z", float(number), {"phase": sys.argv[2]}))
"""
_HOLDER = """
import sys
from pathlib import Path
from dsctl.runbook.journal import Journal
journal = Journal.open(Path(sys.argv[1]))
print("open", flush=True)
sys.stdin.read()
"""


def _written(folder: Path, events: list[Event]) -> Journal:
    journal = Journal.create(folder)
    for one in events:
        journal.append(one)
    return journal


def test_what_is_appended_is_read_and_chained(tmp_path: Path) -> None:
    _written(tmp_path, opened())
    lines = [json.loads(line) for line in (tmp_path / FILE).read_text().splitlines()]
    assert next(iter(lines[0])) == "schema"
    assert "schema" not in lines[1]
    assert [line["seq"] for line in lines] == list(range(len(opened())))
    assert lines[0]["prev"] == ORIGIN
    assert read(tmp_path) == opened()
    assert first(tmp_path) == opened()[0]
    assert verify(tmp_path) == []


def test_live_only_events_are_not_written(tmp_path: Path) -> None:
    _written(tmp_path, [event(0, "step.output", step="a", line="x"), event(0, "bench.progress", rate=1)])
    assert read(tmp_path) == []


def test_a_journal_is_created_once(tmp_path: Path) -> None:
    Journal.create(tmp_path)
    with pytest.raises(FileExistsError):
        Journal.create(tmp_path)


def test_no_journal_reads_as_nothing(tmp_path: Path) -> None:
    assert read(tmp_path) == []
    assert first(tmp_path) is None
    assert verify(tmp_path) == []
    assert not being_written(tmp_path / "nowhere")


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_cut_at_any_byte(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    folder = tmp_path_factory.mktemp("cut")
    _written(folder, opened())
    content = (folder / FILE).read_bytes()
    cut = data.draw(st.integers(0, len(content)))
    (folder / FILE).write_bytes(content[:cut])
    kept = read(folder)
    assert kept == opened()[: len(kept)]
    torn = content[:cut].rpartition(b"\n")[2]
    assert any("torn" in problem for problem in verify(folder)) == bool(torn)

    Journal.open(folder).append(event(9, "run.closed", status="torn-down"))
    assert read(folder) == [*kept, event(9, "run.closed", status="torn-down")]
    if torn:
        assert (folder / TORN).read_bytes() == torn + b"\n"
        assert verify(folder) == [f"a torn line was set aside in {TORN}"]
    else:
        assert verify(folder) == []


@settings(max_examples=40, deadline=None)
@given(text=st.text(st.characters()), key=st.text(st.characters(exclude_categories=["Cs"]), min_size=1))
def test_any_text_stays_one_line(tmp_path_factory: pytest.TempPathFactory, text: str, key: str) -> None:
    folder = tmp_path_factory.mktemp("text")
    _written(folder, [event(0, "run.failed", message=text, context=[{key: text}])] * 2)
    assert [one.data["message"] for one in read(folder)] == [text] * 2
    assert verify(folder) == []


@pytest.mark.parametrize("line", [0, 2, 5])
def test_an_edit_is_found(tmp_path: Path, line: int) -> None:
    _written(tmp_path, opened())
    lines = (tmp_path / FILE).read_bytes().split(b"\n")
    lines[line] = lines[line].replace(b"2026", b"2027")
    (tmp_path / FILE).write_bytes(b"\n".join(lines))
    after = [f"line {line + 2} does not follow the line before it: something was changed"]
    assert verify(tmp_path) == (after if line + 2 <= len(opened()) else [])


def test_a_lost_line_is_found(tmp_path: Path) -> None:
    _written(tmp_path, opened())
    lines = (tmp_path / FILE).read_bytes().split(b"\n")
    (tmp_path / FILE).write_bytes(b"\n".join(lines[:2] + lines[3:]))
    problems = verify(tmp_path)
    assert problems[0] == "line 3 is numbered 3, not 2"
    assert "line 3 does not follow" in problems[1]


@pytest.mark.parametrize("damage", [b"\0" * 40, b"{", b"[]", b'{"kind": 1}'])
def test_a_line_that_is_no_event_is_named_and_hides_nothing_else(tmp_path: Path, damage: bytes) -> None:
    _written(tmp_path, opened())
    lines = (tmp_path / FILE).read_bytes().split(b"\n")
    lines[3] = damage
    (tmp_path / FILE).write_bytes(b"\n".join(lines))
    assert read(tmp_path) == [one for index, one in enumerate(opened()) if index != 3]
    assert verify(tmp_path)[0] == "line 4 is not an event"


def test_another_schema_version_is_refused(tmp_path: Path) -> None:
    _written(tmp_path, opened())
    content = (tmp_path / FILE).read_bytes()
    (tmp_path / FILE).write_bytes(content.replace(b"dsctl.event/1", b"dsctl.event/2"))
    with pytest.raises(DsctlError, match=r"dsctl\.event/2"):
        read(tmp_path)


def test_several_processes_append_one_chain(tmp_path: Path) -> None:
    _written(tmp_path, opened()).close()
    argv = (sys.executable, "-c", _WRITER, str(tmp_path))
    writers = [subprocess.Popen((*argv, name, "20")) for name in ("one", "two")]
    assert [writer.wait(60) for writer in writers] == [0, 0]
    phases = [one.data["phase"] for one in read(tmp_path)[len(opened()) :]]
    assert (phases.count("one"), phases.count("two")) == (20, 20)
    assert verify(tmp_path) == []


def test_a_killed_writer_no_longer_counts(tmp_path: Path) -> None:
    _written(tmp_path, opened()).close()
    assert not being_written(tmp_path)
    with subprocess.Popen(
        (sys.executable, "-c", _HOLDER, str(tmp_path)), stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as holder:
        try:
            assert holder.stdout is not None
            assert holder.stdout.readline() == b"open\n"
            assert being_written(tmp_path)
        finally:
            holder.kill()
    assert not being_written(tmp_path)


def test_a_closed_journal_still_takes_what_must_be_written(tmp_path: Path) -> None:
    journal = _written(tmp_path, opened())
    assert being_written(tmp_path)
    journal.close()
    journal.close()
    assert not being_written(tmp_path)
    journal.append(event(9, "run.closed", status="torn-down"))
    assert read(tmp_path)[-1].kind == "run.closed"


def test_a_full_disk_loses_nothing_that_was_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel takes part of the line, then refuses: the part is set aside by the next append."""
    journal = _written(tmp_path, opened())
    real, calls = os.pwrite, [0]

    def nearly_full(descriptor: int, data: bytes, at: int) -> int:
        calls[0] += 1
        if calls[0] > 1:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return real(descriptor, data[:7], at)

    monkeypatch.setattr(os, "pwrite", nearly_full)
    with pytest.raises(DsctlError, match="No space left") as raised:
        journal.append(event(9, "run.closed", status="torn-down"))
    assert "free some disk" in raised.value.hint
    assert read(tmp_path) == opened()
    monkeypatch.undo()
    journal.append(event(9, "run.closed", status="torn-down"))
    assert read(tmp_path) == [*opened(), event(9, "run.closed", status="torn-down")]
    assert len((tmp_path / TORN).read_bytes()) == 8


def test_a_lost_folder_is_a_failure_not_a_bug(tmp_path: Path) -> None:
    with pytest.raises(DsctlError, match="cannot be written"):
        Journal.open(tmp_path / "gone").append(event(0, "run.closed", status="torn-down"))
