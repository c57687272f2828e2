"""Becomes a program, after ending what an earlier life of it left behind.

    start.py ROLE COMMAND [ARG ...]

A killed vLLM leaves its engine process running without a parent; the supervisor knows nothing of that one. Every
process of a role carries ``DSCTL_RUN`` and ``DSCTL_ROLE``, by which the next life finds it.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from sweep import PROC, all_pids, ancestors, command_line


def main() -> None:
    role, *command = sys.argv[1:]
    for pid in leftovers(os.environ.get("DSCTL_RUN", ""), role):
        print(f"ending process {pid}, left by an earlier {role}", flush=True)
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            continue
    os.environ["DSCTL_ROLE"] = role
    os.execvp(command[0], command)  # noqa: S606  becoming the program is the point


def leftovers(run_id: str, role: str) -> list[int]:
    """Processes of the same run and role, without this one and its ancestors.

    Python's resource trackers stay: each removes the semaphores of its dead parent and then ends by itself.
    """
    marks = {f"DSCTL_RUN={run_id}".encode(), f"DSCTL_ROLE={role}".encode()}
    mine = ancestors()
    found = [pid for pid in all_pids() if pid not in mine and run_id and marks <= _environment(pid)]
    return [pid for pid in found if "multiprocessing.resource_tracker" not in command_line(pid)]


def _environment(pid: int) -> set[bytes]:
    try:
        return set((PROC / str(pid) / "environ").read_bytes().split(b"\0"))
    except OSError:
        return set()


if __name__ == "__main__":
    main()
