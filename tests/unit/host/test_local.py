from __future__ import annotations

import os
import sys
import threading
import time
from pathlib import Path

import pytest

from dsctl.host.local import LocalHost


@pytest.fixture
def host() -> LocalHost:
    return LocalHost({"DSCTL_RUN": "01TEST"})


def python(code: str) -> tuple[str, ...]:
    return (sys.executable, "-c", code)


def test_output_exit_status_and_lines_come_back(host: LocalHost) -> None:
    lines: list[str] = []
    code = "import sys; print('one'); print('two', file=sys.stderr); sys.exit(3)"
    done = host.run(python(code), on_line=lines.append)
    assert (done.exit, done.stdout) == (3, "one\n")
    assert sorted(lines) == ["one", "two"]
    assert sorted(done.output.split()) == ["one", "two"]


def test_commands_carry_the_mark_and_not_the_whole_environment(
    host: LocalHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("A_SECRET_TOKEN", "must-not-leak")
    monkeypatch.setenv("PYTHONPATH", "/elsewhere")
    done = host.run(python("import os; print(*sorted(os.environ), os.environ['DSCTL_RUN'])"), env={"EXTRA": "1"})
    assert "01TEST" in done.stdout
    assert "EXTRA" in done.stdout
    assert "A_SECRET_TOKEN" not in done.stdout
    assert "PYTHONPATH" not in done.stdout


def test_a_missing_command_is_a_status_not_an_exception(host: LocalHost) -> None:
    done = host.run(("/no/such/program",))
    assert done.exit == 127
    assert "/no/such/program" in done.output


def test_the_deadline_ends_the_whole_process_group(host: LocalHost, tmp_path: Path) -> None:
    mark = tmp_path / "child"
    code = (
        "import subprocess, sys, time, pathlib\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])\n"
        f"pathlib.Path({str(mark)!r}).write_text(str(child.pid)); time.sleep(60)"
    )
    done = host.run(python(code), timeout_s=1.0)
    assert done.timed_out
    child = int(mark.read_text())
    deadline = time.monotonic() + 5
    while _alive(child) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not _alive(child)


def test_cancel_stops_a_running_command(host: LocalHost) -> None:
    cancel = threading.Event()
    threading.Timer(0.3, cancel.set).start()
    done = host.run(python("import time; time.sleep(60)"), cancel=cancel)
    assert done.cancelled
    assert done.seconds < 10


def test_a_command_that_ignores_sigterm_is_killed(host: LocalHost, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dsctl.host.local._KILL_GRACE_S", 0.3)
    code = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('up', flush=True); time.sleep(60)"
    done = host.run(python(code), timeout_s=1.0)
    assert done.timed_out
    assert done.exit == -9


def test_only_the_end_of_long_output_is_kept(host: LocalHost) -> None:
    done = host.run(python("print(('x' * 99 + '\\n') * 5000, end='')"))
    assert 0 < len(done.stdout) <= 64 * 1024


def test_files_are_written_whole_and_read_in_parts(host: LocalHost, tmp_path: Path) -> None:
    path = tmp_path / "deep" / "file"
    host.put(str(path), b"0123456789", 0o600)
    assert path.stat().st_mode & 0o777 == 0o600
    assert host.read(str(path)) == b"0123456789"
    assert host.read(str(path), offset=4, limit=3) == b"456"
    assert host.read(str(path), offset=-3) == b"789"
    assert host.read(str(path), offset=-99) == b"0123456789"
    with pytest.raises(FileNotFoundError):
        host.read(str(tmp_path / "absent"))


def test_a_failed_write_leaves_the_old_file_and_no_part(
    host: LocalHost, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "file"
    host.put(str(path), b"old")

    def no_space(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", no_space)
    with pytest.raises(OSError, match="No space"):
        host.put(str(path), b"new")
    assert path.read_bytes() == b"old"
    assert [entry.name for entry in tmp_path.iterdir() if entry.is_file()] == ["file"]


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
