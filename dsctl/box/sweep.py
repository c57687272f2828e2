"""Ends everything that belongs to one run on this box, and proves that nothing is left.

    sweep.py --run-id ID --run-dir DIR --shm MARK --ports 6000,8000 [--note]

Knows how to recognise a run's processes whatever was killed before: they carry ``DSCTL_RUN=ID`` in their
environment, or work in the run's folder. Shared memory is recognised by the run's mark in its name, by being mapped by
such a process, and by the list ``shm.held`` that ``--note`` writes while the run is healthy. Prints one JSON line;
exit status 0 always means that the line is true, ``clean`` in it says whether something remains.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import sys
import time
from pathlib import Path
from typing import Any

GRACE_S = 8.0
PROC = Path("/proc")
SHM = Path("/dev/shm")
_MAPPED = re.compile(r"/dev/shm/(\S+)")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--run-id", required=True)
    parser.add_argument("--run-dir", required=True, type=Path)
    parser.add_argument("--shm", required=True)
    parser.add_argument("--ports", default="")
    parser.add_argument("--note", action="store_true")
    arguments = parser.parse_args()
    if arguments.note:
        names = sorted(shm_held(processes(arguments.run_id, arguments.run_dir)))
        (arguments.run_dir / "shm.held").write_text("\n".join(names))
        print(json.dumps({"held": names}))
        return 0
    ports = [int(port) for port in arguments.ports.split(",") if port]
    print(json.dumps(sweep(arguments.run_id, arguments.run_dir, arguments.shm, ports)))
    return 0


def sweep(run_id: str, run_dir: Path, prefix: str, ports: list[int]) -> dict[str, Any]:
    found = processes(run_id, run_dir)
    ended = {str(pid): command_line(pid) for pid in found}
    held = shm_held(found) | _noted(run_dir)
    for number in (signal.SIGTERM, signal.SIGKILL):
        for pid in processes(run_id, run_dir):
            _signal(pid, number)
        _wait_gone(run_id, run_dir)
    remaining = {str(pid): command_line(pid) for pid in processes(run_id, run_dir)}
    removed, shm_left = _remove_shm(prefix, held)
    owners = listeners(ports)
    ours = [port for port, pids in owners.items() if any(str(pid) in remaining for pid in pids)]
    return {
        "clean": not remaining and not shm_left and not ours,
        "ended": ended,
        "remaining": remaining,
        "shm_removed": removed,
        "shm_left": shm_left,
        "ports_left": ours,
        "ports_of_others": [port for port in owners if port not in ours],
    }


def processes(run_id: str, run_dir: Path) -> list[int]:
    """Process ids of the run, without this script and its ancestors."""
    mark = f"DSCTL_RUN={run_id}".encode()
    mine = ancestors()
    return [pid for pid in all_pids() if pid not in mine and _alive(pid) and _belongs(pid, mark, run_dir)]


def all_pids() -> list[int]:
    return [int(entry.name) for entry in PROC.iterdir() if entry.name.isdigit()]


def _belongs(pid: int, mark: bytes, run_dir: Path) -> bool:
    try:
        if mark in (PROC / str(pid) / "environ").read_bytes().split(b"\0"):
            return True
        return os.readlink(PROC / str(pid) / "cwd").removesuffix(" (deleted)") == str(run_dir)
    except OSError:
        return False


def ancestors() -> set[int]:
    """The process that asks, its parent, and so on up."""
    pid = os.getpid()
    seen: set[int] = set()
    while pid > 0 and pid not in seen:
        seen.add(pid)
        pid = int(_stat(pid)[1]) if _stat(pid) else 0
    return seen


def _stat(pid: int) -> list[str]:
    """The fields of /proc/PID/stat after the command name: state, parent, ..."""
    try:
        return (PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []


def _alive(pid: int) -> bool:
    fields = _stat(pid)
    return bool(fields) and fields[0] not in ("Z", "X")


def command_line(pid: int) -> str:
    try:
        text = (PROC / str(pid) / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return "(ended)"
    return text.strip()[:160]


def shm_held(pids: list[int]) -> set[str]:
    """Names under /dev/shm that these processes have mapped or open."""
    names: set[str] = set()
    for pid in pids:
        try:
            names |= set(_MAPPED.findall((PROC / str(pid) / "maps").read_text(errors="replace")))
        except OSError:
            continue
        names |= {link.removeprefix("/dev/shm/") for link in _open_files(pid) if link.startswith("/dev/shm/")}
    return names


def _open_files(pid: int) -> set[str]:
    """What a process has open; files come and go while one looks, so each link counts by itself."""
    links: set[str] = set()
    try:
        entries = list((PROC / str(pid) / "fd").iterdir())
    except OSError:
        return links
    for entry in entries:
        try:
            links.add(os.readlink(entry))
        except OSError:
            continue
    return links


def _noted(run_dir: Path) -> set[str]:
    try:
        return set((run_dir / "shm.held").read_text().split())
    except OSError:
        return set()


def _remove_shm(prefix: str, held: set[str]) -> tuple[list[str], list[str]]:
    """Unlink what was the run's and no living process maps; return (removed, still there)."""
    try:
        present = {entry.name for entry in SHM.iterdir()}
    except OSError:
        return [], []
    ours = {name for name in present if prefix in name or name in held}
    living = shm_held(all_pids()) if ours else set[str]()
    removed: list[str] = []
    for name in sorted(ours - living):
        (SHM / name).unlink(missing_ok=True)
        removed.append(name)
    return removed, sorted(name for name in ours & living if prefix in name)


def listeners(ports: list[int]) -> dict[int, list[int]]:
    """Which of ``ports`` are listened on, and by which processes (empty when that cannot be read)."""
    inodes: dict[str, int] = {}
    for table in ("tcp", "tcp6"):
        try:
            lines = (PROC / "net" / table).read_text().splitlines()[1:]
        except OSError:
            continue
        for fields in (line.split() for line in lines):
            port = int(fields[1].rpartition(":")[2], 16)
            if fields[3] == "0A" and port in ports:
                inodes[f"socket:[{fields[9]}]"] = port
    owners: dict[int, list[int]] = {port: [] for port in inodes.values()}
    for pid in all_pids() if inodes else ():
        for link in _open_files(pid) & inodes.keys():
            owners[inodes[link]].append(pid)
    return owners


def _signal(pid: int, number: signal.Signals) -> None:
    try:
        os.kill(pid, number)
    except (ProcessLookupError, PermissionError):
        return


def _wait_gone(run_id: str, run_dir: Path) -> None:
    deadline = time.monotonic() + GRACE_S
    while time.monotonic() < deadline and processes(run_id, run_dir):
        time.sleep(0.05)


if __name__ == "__main__":
    sys.exit(main())
