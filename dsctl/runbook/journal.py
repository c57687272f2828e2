"""Knows the journal: events.jsonl, append-only, one event a line, each line carrying the digest of the one before.

Every event is on disk before ``append`` returns. Several processes append at different times (up, then bench, then
teardown), each under a file lock. A last line torn by a crash is set aside in ``events.torn``, never silently dropped.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

from dsctl.core.digest import sha256
from dsctl.core.errors import DsctlError
from dsctl.model.event import LIVE_ONLY, SCHEMA, Event

FILE, TORN = "events.jsonl", "events.torn"
ORIGIN = "0" * 64
"""What the first line names as the digest before it."""


class Journal:
    def __init__(self, folder: Path) -> None:
        self._path = folder / FILE
        self._torn = folder / TORN

    @classmethod
    def create(cls, folder: Path) -> Self:
        """A journal that did not exist. Raises FileExistsError."""
        (folder / FILE).open("x").close()
        return cls(folder)

    @classmethod
    def open(cls, folder: Path) -> Self:
        """A journal to continue."""
        return cls(folder)

    def append(self, event: Event) -> None:
        """Write one event through to the disk. Raises DsctlError when the disk is full; nothing before is lost."""
        if event.kind in LIVE_ONLY:
            return
        try:
            with self._locked() as descriptor:
                data = os.pread(descriptor, os.fstat(descriptor).st_size, 0)
                whole = self._repair(descriptor, data)
                line = _line(event, whole)
                os.pwrite(descriptor, line, len(whole))
                os.fsync(descriptor)
        except OSError as error:
            full = error.errno in (errno.ENOSPC, errno.EDQUOT)
            hint = "free some disk; what was written before is whole" if full else "see the message"
            raise DsctlError(f"the journal {self._path} cannot be written: {error.strerror}", hint=hint) from error

    @contextmanager
    def _locked(self) -> Generator[int]:
        descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield descriptor
        finally:
            os.close(descriptor)

    def _repair(self, descriptor: int, data: bytes) -> bytes:
        """Only whole lines stay; a torn end moves to ``events.torn``."""
        whole = data[: data.rfind(b"\n") + 1]
        if len(whole) < len(data):
            with self._torn.open("ab") as torn:
                torn.write(data[len(whole) :] + b"\n")
            os.ftruncate(descriptor, len(whole))
        return whole


def read(folder: Path) -> list[Event]:
    """All whole events, in order; empty when there is no journal."""
    return [
        Event(record["kind"], record["at"], record["mono"], record["data"])
        for record in (json.loads(line) for line in _whole_lines(folder))
    ]


def verify(folder: Path) -> list[str]:
    """What is wrong with a journal: a broken chain, a missing number, an unreadable line. Empty when it is sound."""
    problems: list[str] = []
    previous = ORIGIN
    for number, line in enumerate(_whole_lines(folder)):
        try:
            record: dict[str, Any] = json.loads(line)
        except ValueError:
            problems.append(f"line {number + 1} is not JSON")
            previous = sha256(line)
            continue
        if record.get("seq") != number:
            problems.append(f"line {number + 1} is numbered {record.get('seq')}, not {number}")
        if record.get("prev") != previous:
            problems.append(f"line {number + 1} does not follow the line before it: something was changed")
        previous = sha256(line)
    if (folder / TORN).exists():
        problems.append(f"a torn line was set aside in {TORN}")
    return problems


def _whole_lines(folder: Path) -> list[bytes]:
    try:
        data = (folder / FILE).read_bytes()
    except FileNotFoundError:
        return []
    return data[: data.rfind(b"\n") + 1].splitlines()


def _line(event: Event, whole: bytes) -> bytes:
    lines = whole.splitlines()
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
    return json.dumps(record, default=str, ensure_ascii=False).encode() + b"\n"
