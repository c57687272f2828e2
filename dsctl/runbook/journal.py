"""Knows the journal: events.jsonl, append-only, one event a line, each line carrying the digest of the one before.

Every event is on disk before ``append`` returns. Several processes append at different times (up, then bench, then
teardown), each under a file lock. A last line torn by a crash or a full disk is set aside in ``events.torn``, never
silently dropped.

A process that has a journal open also holds a shared lock on the run's folder. The kernel drops it when the process
dies, however it dies: that tells a run that is still starting from one whose process was killed.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self, cast

from dsctl.core.digest import sha256
from dsctl.core.errors import DsctlError
from dsctl.model.event import LIVE_ONLY, SCHEMA, Event

FILE, TORN = "events.jsonl", "events.torn"
ORIGIN = "0" * 64
"""What the first line names as the digest before it."""
_FULL = (errno.ENOSPC, errno.EDQUOT)
_KEYS: dict[str, type | tuple[type, ...]] = {"kind": str, "at": str, "mono": (int, float), "data": dict}


class Journal:
    def __init__(self, folder: Path) -> None:
        self._path = folder / FILE
        self._torn = folder / TORN
        self._mark = _hold(folder)

    @classmethod
    def create(cls, folder: Path) -> Self:
        """A journal that did not exist. Raises FileExistsError."""
        (folder / FILE).open("x").close()
        _sync_folder(folder)
        return cls(folder)

    @classmethod
    def open(cls, folder: Path) -> Self:
        """A journal to continue."""
        return cls(folder)

    def close(self) -> None:
        """Nothing more comes from here; ``append`` would still work, but the run no longer counts as written to."""
        if self._mark is not None:
            os.close(self._mark)
            self._mark = None

    def __del__(self) -> None:
        self.close()

    def append(self, event: Event) -> None:
        """Write one event through to the disk. Raises DsctlError when the disk is full; nothing before is lost."""
        if event.kind in LIVE_ONLY:
            return
        try:
            with self._locked() as descriptor:
                data = _read_all(descriptor)
                whole = data[: data.rfind(b"\n") + 1]
                if len(whole) < len(data):
                    self._set_aside(descriptor, data[len(whole) :], len(whole))
                _write_all(descriptor, _line(event, whole), len(whole))
                os.fsync(descriptor)
        except OSError as error:
            hint = "free some disk; what was written before is whole" if error.errno in _FULL else "see the message"
            raise DsctlError(f"the journal {self._path} cannot be written: {error.strerror}", hint=hint) from error

    @contextmanager
    def _locked(self) -> Generator[int]:
        descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield descriptor
        finally:
            os.close(descriptor)

    def _set_aside(self, descriptor: int, torn: bytes, end: int) -> None:
        """The torn bytes are on disk in their own file before they leave this one."""
        with self._torn.open("ab") as file:
            file.write(torn + b"\n")
            file.flush()
            os.fsync(file.fileno())
        os.ftruncate(descriptor, end)


def read(folder: Path) -> list[Event]:
    """All whole events, in order; empty when there is no journal. A line that is no event is left to ``verify``.

    Raises DsctlError for a journal of another major schema version.
    """
    records = [_record(line) for line in _whole_lines(folder)]
    if records and records[0] is not None:
        _refuse_other_schema(folder, records[0])
    return [Event(r["kind"], r["at"], r["mono"], r["data"]) for r in records if r is not None]


def first(folder: Path) -> Event | None:
    """The first event, ``run.opened`` in a sound journal, without reading the rest."""
    try:
        with (folder / FILE).open("rb") as file:
            line = file.readline()
    except FileNotFoundError:
        return None
    record = _record(line) if line.endswith(b"\n") else None
    return Event(record["kind"], record["at"], record["mono"], record["data"]) if record else None


def verify(folder: Path) -> list[str]:
    """What is wrong with a journal: a broken chain, a missing number, an unreadable line. Empty when it is sound."""
    problems: list[str] = []
    previous = ORIGIN
    for number, line in enumerate(_whole_lines(folder)):
        record = _record(line)
        if record is None:
            problems.append(f"line {number + 1} is not an event")
        else:
            if record.get("seq") != number:
                problems.append(f"line {number + 1} is numbered {record.get('seq')}, not {number}")
            if record.get("prev") != previous:
                problems.append(f"line {number + 1} does not follow the line before it: something was changed")
        previous = sha256(line)
    if _tail(folder):
        problems.append("the last line is torn; the next append sets it aside")
    if (folder / TORN).exists():
        problems.append(f"a torn line was set aside in {TORN}")
    return problems


def being_written(folder: Path) -> bool:
    """Whether a living process has this journal open; false where the file system cannot tell."""
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    else:
        return False
    finally:
        os.close(descriptor)


def _hold(folder: Path) -> int | None:
    """A shared lock on the folder for as long as the journal is open; None where folders cannot be locked."""
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH)
    except OSError:
        os.close(descriptor)
        return None
    return descriptor


def _sync_folder(folder: Path) -> None:
    """A new file's name is on disk only when its folder is."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _read_all(descriptor: int) -> bytes:
    return os.pread(descriptor, os.fstat(descriptor).st_size, 0)


def _write_all(descriptor: int, line: bytes, at: int) -> None:
    """A nearly full disk takes part of a line without an error; the next write then says ENOSPC."""
    written = 0
    while written < len(line):
        written += os.pwrite(descriptor, line[written:], at + written)


def _whole_lines(folder: Path) -> list[bytes]:
    return _content(folder).split(b"\n")[:-1]


def _tail(folder: Path) -> bytes:
    return _content(folder).split(b"\n")[-1]


def _content(folder: Path) -> bytes:
    try:
        return (folder / FILE).read_bytes()
    except FileNotFoundError:
        return b""


def _record(line: bytes) -> dict[str, Any] | None:
    """The event on a line, or None when there is none: half a line, zeros after a power cut, an edit gone wrong."""
    try:
        value: Any = json.loads(line)
    except ValueError:
        return None
    if not isinstance(value, dict):
        return None
    record = cast("dict[str, Any]", value)
    return record if all(isinstance(record.get(key), kind) for key, kind in _KEYS.items()) else None


def _refuse_other_schema(folder: Path, record: dict[str, Any]) -> None:
    schema = record.get("schema", SCHEMA)
    if schema != SCHEMA:
        message = f"{folder.name} was written as {schema}; this dsctl reads {SCHEMA}"
        raise DsctlError(message, hint="use the dsctl version named in its manifest.json")


def _line(event: Event, whole: bytes) -> bytes:
    lines = whole.split(b"\n")[:-1]
    head: dict[str, Any] = {} if lines else {"schema": SCHEMA}
    record = {
        **head,
        "seq": len(lines),
        "at": event.at,
        "mono": event.mono,
        "kind": event.kind,
        "data": dict(event.data),
        "prev": sha256(lines[-1]) if lines else ORIGIN,
    }
    # A byte of a file name that is no UTF-8 becomes \udcXX, which is also how JSON writes it.
    return json.dumps(record, default=str, ensure_ascii=False).encode(errors="backslashreplace") + b"\n"
