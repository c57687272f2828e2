"""What a test must not leave behind: processes of runs, listening ports, shared memory."""

from __future__ import annotations

import os
from pathlib import Path
from types import TracebackType
from typing import Self

from dsctl.box.sweep import all_pids


class Leftovers:
    """Compares before and after; fails when a run's process or a shared-memory file is new."""

    def __enter__(self) -> Self:
        self._processes, self._shm = run_processes(), shm_files()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        new = run_processes() - self._processes
        assert not new, f"left running: {new}"
        files = shm_files() - self._shm
        assert not files, f"left in shared memory: {files}"


def run_processes() -> set[tuple[int, str]]:
    """Living processes that carry a run's mark."""
    found: set[tuple[int, str]] = set()
    for pid in all_pids():
        try:
            environment = Path(f"/proc/{pid}/environ").read_bytes()
            command = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if b"DSCTL_RUN=" in environment and pid != os.getpid():
            found.add((pid, command[:100]))
    return found


def shm_files() -> set[str]:
    return {entry.name for entry in Path("/dev/shm").iterdir()}
