from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from uuid import uuid4

from dsctl.box import start

SCRIPT = Path(start.__file__)
SLEEP = "import time; print('up', flush=True); time.sleep(60)"


def spawn(run_id: str, role: str) -> subprocess.Popen[bytes]:
    env = {**os.environ, "DSCTL_RUN": run_id, "DSCTL_ROLE": role}
    child = subprocess.Popen([sys.executable, "-c", SLEEP], env=env, stdout=subprocess.PIPE)
    assert child.stdout is not None
    assert child.stdout.readline() == b"up\n"
    child.stdout.close()
    return child


def test_only_what_an_earlier_life_of_the_same_role_left_is_ended() -> None:
    run_id = f"TEST{uuid4().hex}"
    orphan, other_role, other_run = spawn(run_id, "decode0"), spawn(run_id, "decode1"), spawn(run_id + "x", "decode0")
    try:
        command = [
            sys.executable,
            str(SCRIPT),
            "decode0",
            sys.executable,
            "-c",
            "import os; print(os.environ['DSCTL_ROLE'])",
        ]
        env = {**os.environ, "DSCTL_RUN": run_id}
        done = subprocess.run(command, env=env, capture_output=True, text=True, check=True, timeout=30)
        assert done.stdout.splitlines() == [f"ending process {orphan.pid}, left by an earlier decode0", "decode0"]
        assert orphan.wait(5) == -9
        assert other_role.poll() is None
        assert other_run.poll() is None
    finally:
        for child in (orphan, other_role, other_run):
            child.kill()
            child.wait(5)
