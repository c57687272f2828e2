"""Start vLLM and LMCache by hand, as a person would type it: the peer that dsctl's launch is measured against."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

ENV = {
    "DO_NOT_TRACK": "1",
    "HF_HUB_OFFLINE": "1",
    "LMCACHE_DISABLE_BANNER": "1",
    "LMCACHE_TRACK_USAGE": "false",
    "OMP_NUM_THREADS": "1",
    "PYTHONHASHSEED": "0",
    "VLLM_NO_USAGE_STATS": "1",
}
LEAN_ENV = {"VLLM_CPU_OMP_THREADS_BIND": "nobind", "VLLM_ENABLE_V1_MULTIPROCESSING": "0"}
LEAN_FLAGS = (
    "--enforce-eager", "--max-model-len", "8192", "--distributed-executor-backend", "uni", "--max-num-seqs", "16",
    "--max-num-batched-tokens", "2048", "--kv-cache-memory-bytes", "128M",
)  # fmt: skip
DEFAULT_FLAGS = ("--enforce-eager",)
DEFAULT_ENV = {"VLLM_CPU_KVCACHE_SPACE": "1"}
"""Without it each engine wants nearly all memory of its NUMA node, and three of them do not start on 24 GiB."""
CONNECTOR = (
    '{"kv_connector":"LMCacheMPConnector","kv_role":"kv_both",'
    '"kv_connector_extra_config":{"lmcache.mp.host":"tcp://127.0.0.1","lmcache.mp.port":6000}}'
)


def store_command(engine_dir: Path) -> list[str]:
    return [
        f"{engine_dir}/bin/lmcache", "server", "--host", "127.0.0.1", "--port", "6000", "--chunk-size", "256",
        "--l1-size-gb", "2", "--eviction-policy", "LRU", "--supported-transfer-mode", "auto",
        "--http-host", "127.0.0.1", "--http-port", "6080",
    ]  # fmt: skip


def engine_command(engine_dir: Path, model_dir: Path, port: int, flags: Sequence[str], *, shared: bool) -> list[str]:
    connector = ["--kv-transfer-config", CONNECTOR] if shared else []
    return [
        f"{engine_dir}/bin/python", "-m", "vllm.entrypoints.openai.api_server", "--model", str(model_dir),
        "--served-model-name", "lab", "--host", "127.0.0.1", "--port", str(port), "--enable-prefix-caching",
        *connector, *flags,
    ]  # fmt: skip


@contextmanager
def running(commands: Sequence[list[str]], env: dict[str, str]) -> Iterator[list[subprocess.Popen[bytes]]]:
    """Start all at once; at the end every process group is gone and its shared memory with it."""
    base = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    before = shm()
    with tempfile.TemporaryDirectory(prefix="byhand-") as tmp:
        started = [
            subprocess.Popen(
                command,
                env={**base, **ENV, **env, "TMPDIR": tmp},
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
            for command in commands
        ]
        try:
            yield started
        finally:
            for process in reversed(started):
                os.killpg(process.pid, signal.SIGTERM)
            for process in started:
                try:
                    process.wait(20)
                except subprocess.TimeoutExpired:
                    os.killpg(process.pid, signal.SIGKILL)
                    process.wait(20)
            for name in shm() - before:
                Path("/dev/shm", name).unlink(missing_ok=True)


def shm() -> set[str]:
    return {entry.name for entry in Path("/dev/shm").iterdir()}


def wait_ready(urls: Sequence[str], processes: Sequence[subprocess.Popen[bytes]], timeout_s: float = 300) -> None:
    """Until every URL answers 200; raises when a process dies or time runs out."""
    deadline = time.monotonic() + timeout_s
    for url in urls:
        while not _answers(url):
            if any(process.poll() is not None for process in processes):
                raise RuntimeError(f"a process died before {url} answered")
            if time.monotonic() > deadline:
                raise TimeoutError(url)
            time.sleep(0.1)


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=2) as reply:
            return reply.status == 200
    except (urllib.error.URLError, OSError):
        return False
