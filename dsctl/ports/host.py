"""Knows what a box must offer: run a command, write a file, read a file. Callers cannot tell local from SSH."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Completed:
    """``exit``: the status, negative for a signal. ``output``: stdout and stderr as they came, the last 64 KiB."""

    exit: int
    stdout: str
    output: str
    seconds: float
    timed_out: bool = False
    cancelled: bool = False


class Host(Protocol):
    @property
    def name(self) -> str: ...

    def run(
        self,
        argv: Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        timeout_s: float = 60.0,
        on_line: Callable[[str], None] | None = None,
        cancel: threading.Event | None = None,
    ) -> Completed:
        """Run to the end, to the timeout, or until ``cancel`` is set; then the whole process group is gone."""
        ...

    def put(self, path: str, data: bytes, mode: int = 0o644) -> None:
        """Write a file atomically, making its folders."""
        ...

    def read(self, path: str, offset: int = 0, limit: int = -1) -> bytes:
        """Bytes from ``offset``; a negative offset counts from the end. Raises FileNotFoundError."""
        ...
