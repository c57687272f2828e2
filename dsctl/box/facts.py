"""Says what this box is and has: one read-only look, one JSON line.

    facts.py --dir DIR --ports 6000,8000

``memory_available`` and ``disk_free`` in bytes; ``disk_free`` is of the file system that ``--dir`` lies on.
``ports`` maps each asked port that is taken to the processes listening on it.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))
from sweep import command_line, listeners


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dir", required=True, type=Path)
    parser.add_argument("--ports", default="")
    arguments = parser.parse_args()
    ports = [int(port) for port in arguments.ports.split(",") if port]
    print(json.dumps(look(arguments.dir, ports)))
    return 0


def look(folder: Path, ports: list[int]) -> dict[str, Any]:
    while not folder.exists():
        folder = folder.parent
    return {
        "system": platform.system(),
        "machine": platform.machine(),
        "kernel": platform.release(),
        "cpu": _cpu_model(),
        "cpus": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "memory_total": _meminfo("MemTotal"),
        "memory_available": _meminfo("MemAvailable"),
        "disk_free": shutil.disk_usage(folder).free,
        "shm_free": shutil.disk_usage("/dev/shm").free if Path("/dev/shm").exists() else 0,
        "pythons": _pythons(),
        "uv": bool(shutil.which("uv") or (Path(sys.executable).parent / "uv").exists()),
        "gpus": _gpus(),
        "ports": {str(port): [f"pid {p}: {command_line(p)}" for p in pids] for port, pids in listeners(ports).items()},
    }


def _cpu_model() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "")


def _meminfo(key: str) -> int:
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith(key + ":")), 0)


def _pythons() -> list[str]:
    here = ".".join(map(str, sys.version_info[:2]))
    others = [f"3.{minor}" for minor in range(9, 16) if shutil.which(f"python3.{minor}")]
    return sorted({here, *others})


def _gpus() -> list[dict[str, str]]:
    if not shutil.which("nvidia-smi"):
        return []
    query = ["nvidia-smi", "--query-gpu=name,memory.total,driver_version", "--format=csv,noheader"]
    lines = subprocess.run(query, capture_output=True, text=True, check=False, timeout=30).stdout.splitlines()
    rows = (line.split(", ") for line in lines)
    return [dict(zip(("name", "memory", "driver"), row)) for row in rows]


if __name__ == "__main__":
    sys.exit(main())
