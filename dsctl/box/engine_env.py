"""Builds the engine environment on the box from hash-pinned locks; reuses it when it is already whole.

    engine_env.py --dir DIR --lock FILE [--torch-lock FILE] [--python 3.11]

Knows where a CPU build of torch comes from: a find-links folder when one holds it, else PyTorch's own CPU index,
asked with a short timeout so that an unreachable index is an error and never a hang. The locks are closed sets
installed without dependency resolution, so packages that break beside this torch are never pulled in.
"""

from __future__ import annotations

import argparse
import configparser
import fcntl
import json
import os
import re
import shutil
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

TORCH_INDEX = "https://download.pytorch.org/whl/cpu"
REACH_S = 10.0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dir", required=True, type=Path)
    parser.add_argument("--lock", required=True, type=Path)
    parser.add_argument("--torch-lock", type=Path)
    parser.add_argument("--python", default="3.11")
    arguments = parser.parse_args()
    arguments.dir.parent.mkdir(parents=True, exist_ok=True)
    with Path(f"{arguments.dir}.lock").open("w") as lock:
        if not _try_lock(lock.fileno()):
            print(f"waiting: another process is building {arguments.dir}", flush=True)
            fcntl.flock(lock, fcntl.LOCK_EX)
        return ensure(arguments.dir, arguments.lock, arguments.torch_lock, arguments.python)


def ensure(target: Path, lock: Path, torch_lock: Path | None, python: str) -> int:
    """Exit status 0 when ``target`` is a complete environment; its ``.ready`` file says how it was built."""
    ready = target / ".ready"
    if ready.exists():
        print(json.dumps({"status": "unchanged", "dir": str(target)}))
        return 0
    shutil.rmtree(target, ignore_errors=True)
    started = time.monotonic()
    env = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    env.setdefault("UV_SYSTEM_CERTS", "1")  # as pip does: what the machine trusts is trusted
    installer = _make_venv(target, python, env)
    if torch_lock is not None:
        _run([*installer, "--no-deps", *_torch_source(torch_lock), "--require-hashes", "-r", str(torch_lock)], env)
    _run([*installer, "--no-deps", "--require-hashes", "-r", str(lock)], env)
    seconds = round(time.monotonic() - started, 1)
    record = {"status": "built", "dir": str(target), "seconds": seconds, "installer": installer[0]}
    partial = target / ".ready.partial"
    partial.write_text(json.dumps(record))
    partial.rename(ready)
    print(json.dumps(record))
    return 0


def _make_venv(target: Path, python: str, env: dict[str, str]) -> list[str]:
    """Make the venv; return the install command to extend. uv when present: it is some ten times faster."""
    uv = shutil.which("uv") or _beside_me("uv")
    if uv:
        _run([uv, "venv", "--quiet", "--python", python, str(target)], env)
        return [uv, "pip", "install", "--compile-bytecode", "--python", str(target / "bin" / "python")]
    interpreter = _find_python(python)
    _run([interpreter, "-m", "venv", str(target)], env)
    return [str(target / "bin" / "python"), "-m", "pip", "install", "--disable-pip-version-check", "--progress-bar=off"]


def _beside_me(name: str) -> str | None:
    candidate = Path(sys.executable).parent / name
    return str(candidate) if candidate.exists() else None


def _find_python(version: str) -> str:
    if ".".join(map(str, sys.version_info[:2])) == version:
        return sys.executable
    found = shutil.which(f"python{version}")
    if not found:
        _fail(
            f"the engine environment needs Python {version}",
            f"install uv (it brings Python {version}) or python{version}",
        )
    return str(found)


def _torch_source(torch_lock: Path) -> list[str]:
    """Installer arguments that say where torch comes from: a folder at hand, else PyTorch's CPU index."""
    match = re.search(r"^torch==(\S+)", torch_lock.read_text(), re.MULTILINE)
    version = match.group(1) if match else ""
    for place in find_links():
        if Path(place).is_dir() and any(Path(place).glob(f"torch-{version}-*.whl")):
            return ["--no-index", "--find-links", place]
    try:
        urllib.request.urlopen(f"{TORCH_INDEX}/torch/", timeout=REACH_S).close()
    except (urllib.error.URLError, OSError) as error:
        hint = "put the wheel in a folder and set UV_FIND_LINKS to it, or open the way to that index"
        _fail(f"torch {version} is in no find-links folder, and {TORCH_INDEX} cannot be reached ({error})", hint)
    return ["--index-url", TORCH_INDEX]


def find_links() -> list[str]:
    """The find-links folders of uv and pip: environment first, then pip's configuration files."""
    values = [os.environ.get("UV_FIND_LINKS", "").replace(",", " "), os.environ.get("PIP_FIND_LINKS", "")]
    home = Path(os.environ.get("HOME", "/"))
    config_home = Path(os.environ.get("XDG_CONFIG_HOME") or home / ".config")
    system = [Path(d) / "pip" / "pip.conf" for d in os.environ.get("XDG_CONFIG_DIRS", "/etc/xdg").split(":") if d]
    own = [Path(os.environ["PIP_CONFIG_FILE"])] if os.environ.get("PIP_CONFIG_FILE") else []
    user = [home / ".pip" / "pip.conf", config_home / "pip" / "pip.conf"]
    for path in (*system, Path("/etc/pip.conf"), *user, *own):
        config = configparser.RawConfigParser()
        try:
            config.read(path)
        except (configparser.Error, OSError, UnicodeDecodeError):
            continue
        values += [config.get(s, "find-links", fallback="") for s in ("install", "global") if config.has_section(s)]
    return [place.removeprefix("file://") for value in values for place in value.split()]


def _run(command: list[str], env: dict[str, str]) -> None:
    print("$ " + " ".join(command), flush=True)
    result = subprocess.run(command, env=env, check=False)
    if result.returncode:
        hint = "see the lines above; a full disk or an unreachable package index are the usual causes"
        _fail(f"{Path(command[0]).name} ended with status {result.returncode}", hint)


def _try_lock(fd: int) -> bool:
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _fail(message: str, hint: str) -> None:
    print(f"error: {message}\nhint: {hint}", flush=True)
    raise SystemExit(1)


if __name__ == "__main__":
    sys.exit(main())
