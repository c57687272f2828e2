"""The sweep against real processes, sockets and shared memory of this test's own making."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from dsctl.box import sweep

SCRIPT = Path(sweep.__file__)


@pytest.fixture
def run_id() -> str:
    return f"TEST{uuid4().hex}"


@pytest.fixture
def children() -> Iterator[list[subprocess.Popen[bytes]]]:
    started: list[subprocess.Popen[bytes]] = []
    yield started
    for child in started:
        child.kill()
        child.wait(5)


def spawn(
    children: list[subprocess.Popen[bytes]], code: str, run_id: str, **options: object
) -> subprocess.Popen[bytes]:
    env = {**os.environ, "DSCTL_RUN": run_id}
    child = subprocess.Popen([sys.executable, "-c", code], env=env, stdout=subprocess.PIPE, **options)  # type: ignore[call-overload]
    children.append(child)
    assert child.stdout.readline() == b"up\n"
    child.stdout.close()
    return child


def run_sweep(run_id: str, run_dir: Path, mark: str, ports: str = "") -> dict[str, object]:
    command = [
        sys.executable,
        str(SCRIPT),
        "--run-id",
        run_id,
        "--run-dir",
        str(run_dir),
        "--shm",
        mark,
        "--ports",
        ports,
    ]
    done = subprocess.run(command, capture_output=True, check=True, timeout=60)
    return json.loads(done.stdout)


SLEEP = "import time; print('up', flush=True); time.sleep(120)"
STUBBORN = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); " + SLEEP


def test_everything_with_the_mark_ends_and_nothing_else(children: list, run_id: str, tmp_path: Path) -> None:
    ours = spawn(children, SLEEP, run_id, start_new_session=True)
    other = spawn(children, SLEEP, run_id + "x")
    result = run_sweep(run_id, tmp_path, f"mark-{run_id}")
    assert result["clean"] is True
    assert list(result["ended"]) == [str(ours.pid)]
    assert ours.wait(5) == -signal.SIGTERM
    assert other.poll() is None


def test_a_process_that_ignores_sigterm_is_killed(
    children: list, run_id: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sweep, "GRACE_S", 0.3)
    child = spawn(children, STUBBORN, run_id)
    child_pid = child.pid
    assert child_pid in sweep.processes(run_id, tmp_path)
    result = sweep.sweep(run_id, tmp_path, f"mark-{run_id}", [])
    assert result["clean"] is True
    assert child.wait(5) == -signal.SIGKILL


def test_a_process_without_the_mark_is_known_by_where_it_works(children: list, run_id: str, tmp_path: Path) -> None:
    child = spawn(children, SLEEP, "unmarked", cwd=tmp_path)
    result = run_sweep(run_id, tmp_path, f"mark-{run_id}")
    assert list(result["ended"]) == [str(child.pid)]


def test_shared_memory_of_the_dead_is_removed_by_mark_and_by_note(children: list, run_id: str, tmp_path: Path) -> None:
    marked, held = Path(f"/dev/shm/pool_{run_id}_l1"), Path(f"/dev/shm/sem.{run_id[-8:]}")
    foreign = Path(f"/dev/shm/foreign.{run_id[-8:]}")
    try:
        for path in (marked, held, foreign):
            path.write_bytes(b"x" * 4096)
        (tmp_path / "shm.held").write_text(held.name)
        result = run_sweep(run_id, tmp_path, run_id)
        assert sorted(result["shm_removed"]) == sorted((marked.name, held.name))
        assert not marked.exists()
        assert not held.exists()
        assert foreign.exists()
    finally:
        for path in (marked, held, foreign):
            path.unlink(missing_ok=True)


def test_note_writes_down_what_is_mapped(children: list, run_id: str, tmp_path: Path) -> None:
    path = Path(f"/dev/shm/{run_id}")
    try:
        path.write_bytes(b"x" * 4096)
        code = f"import mmap; f = open({str(path)!r}, 'r+b'); m = mmap.mmap(f.fileno(), 0); f.close(); {SLEEP}"
        spawn(children, code, run_id)
        command = [sys.executable, str(SCRIPT), "--run-id", run_id, "--run-dir", str(tmp_path), "--shm", "m", "--note"]
        subprocess.run(command, check=True, timeout=60, capture_output=True)
        assert (tmp_path / "shm.held").read_text() == run_id
        assert run_sweep(run_id, tmp_path, "no-such-mark")["shm_removed"] == [run_id]
    finally:
        path.unlink(missing_ok=True)


def test_ports_are_told_apart_by_who_listens(children: list, run_id: str, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as mine:
        port = mine.getsockname()[1]
        owners = sweep.listeners([port, 1])
        assert owners == {port: [os.getpid()]}
        result = run_sweep(run_id, tmp_path, f"mark-{run_id}", f"{port},1")
        assert result["clean"] is True
        assert result["ports_of_others"] == [port]


def test_sweeping_an_empty_box_is_clean_and_quick(run_id: str, tmp_path: Path) -> None:
    started = time.monotonic()
    result = run_sweep(run_id, tmp_path / "absent", f"mark-{run_id}", "1,2,3")
    assert result["clean"] is True
    assert result["ended"] == {}
    assert time.monotonic() - started < 5
