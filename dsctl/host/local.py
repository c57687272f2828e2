"""Knows how to be a box: runs commands on this machine, each in a process group that can be ended whole.

Commands get a short list of inherited variables, not the caller's whole environment: what a run does must not depend
on the shell it was started from.
"""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO

from dsctl.ports.host import Completed

_INHERITED = ("ALL_PROXY", "HOME", "LANG", "LD_LIBRARY_PATH", "LOGNAME", "NO_PROXY", "PATH", "SHELL", "TMPDIR", "USER")
_INHERITED_PREFIXES = (
    "LC_",
    "XDG_",
    "UV_",
    "PIP_",
    "HTTP",
    "http",
    "SSL_CERT_",
    "REQUESTS_CA_",
    "CUDA_",
    "NVIDIA_",
    "no_proxy",
)
_KEPT = 64 * 1024
_KILL_GRACE_S = 5.0


class LocalHost:
    """``marks`` are added to every command's environment; they say which run a process belongs to."""

    name = "local"

    def __init__(self, marks: Mapping[str, str]) -> None:
        self._marks = dict(marks)

    def run(
        self,
        argv: Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        timeout_s: float = 60.0,
        on_line: Callable[[str], None] | None = None,
        cancel: threading.Event | None = None,
    ) -> Completed:
        started = time.monotonic()
        try:
            process = subprocess.Popen(
                list(argv),
                env={**inherited(), **self._marks, **(env or {})},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
        except OSError as error:
            text = f"{argv[0]}: {error.strerror}"
            return Completed(exit=127, stdout="", output=text, seconds=time.monotonic() - started)
        stdout, output = _Tail(), _Tail()
        readers = (_reader(process.stdout, (stdout, output), on_line), _reader(process.stderr, (output,), on_line))
        timed_out, cancelled = _watch(process, started + timeout_s, cancel)
        for reader in readers:
            reader.join(_KILL_GRACE_S)
        seconds = time.monotonic() - started
        return Completed(process.returncode, stdout.text(), output.text(), seconds, timed_out, cancelled)

    def put(self, path: str, data: bytes, mode: int = 0o644) -> None:
        target = Path(path)
        target.parent.mkdir(parents=True, exist_ok=True)
        descriptor, partial = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(data)
            Path(partial).chmod(mode)
            Path(partial).replace(target)
        except BaseException:
            Path(partial).unlink(missing_ok=True)
            raise

    def read(self, path: str, offset: int = 0, limit: int = -1) -> bytes:
        with Path(path).open("rb") as file:
            if offset < 0:
                size = file.seek(0, os.SEEK_END)
                file.seek(max(0, size + offset))
            else:
                file.seek(offset)
            return file.read(limit)


def inherited() -> dict[str, str]:
    """The part of this process's environment that commands may see."""
    return {
        name: value for name, value in os.environ.items() if name in _INHERITED or name.startswith(_INHERITED_PREFIXES)
    }


class _Tail:
    """The last bytes of a stream."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._size = 0

    def add(self, line: str) -> None:
        self._lines.append(line)
        self._size += len(line)
        while self._size > _KEPT and len(self._lines) > 1:
            self._size -= len(self._lines.pop(0))

    def text(self) -> str:
        return "".join(self._lines)


def _reader(
    stream: IO[bytes] | None, tails: tuple[_Tail, ...], on_line: Callable[[str], None] | None
) -> threading.Thread:
    def read() -> None:
        if stream is None:
            return
        with stream:
            for raw in stream:
                line = raw.decode(errors="replace")
                for tail in tails:
                    tail.add(line)
                if on_line:
                    on_line(line.rstrip("\n"))

    thread = threading.Thread(target=read, daemon=True)
    thread.start()
    return thread


def _watch(process: subprocess.Popen[bytes], deadline: float, cancel: threading.Event | None) -> tuple[bool, bool]:
    """Wait for the end; at the deadline or on ``cancel`` end the process group. Returns (timed out, cancelled)."""
    while process.poll() is None:
        if cancel and cancel.is_set():
            _end(process)
            return False, True
        if time.monotonic() >= deadline:
            _end(process)
            return True, False
        try:
            process.wait(0.05)
        except subprocess.TimeoutExpired:
            continue
    return False, False


def _end(process: subprocess.Popen[bytes]) -> None:
    for number, patience in ((signal.SIGTERM, _KILL_GRACE_S), (signal.SIGKILL, _KILL_GRACE_S)):
        try:
            os.killpg(process.pid, number)
            process.wait(patience)
        except ProcessLookupError:
            break
        except subprocess.TimeoutExpired:
            continue
        break
    process.wait(_KILL_GRACE_S)
