"""`dsctl up` is killed at every step, parts are killed, signals come: teardown ends everything, every time.

Simulated engines, the real command line, real processes. Ports are moved away from the defaults.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from dsctl.box.sweep import processes
from dsctl.flow.compile import compile_plan
from tests.e2e.conftest import Cli
from tests.leftovers import shm_files
from tests.profiles import shipped

PORTS = (
    "--set",
    "gateway.port=18000",
    "--set",
    "kv.port=16000",
    "--set",
    "kv.http_port=16080",
    "--set",
    "engine.base_port=18100",
)
UP_WORDS = ("up", "local-sim", "--yes", *PORTS)
UP = (*UP_WORDS, "--json")
KILLED_AT = [step.id for step in compile_plan(shipped("local-sim")).steps if step.phase != "teardown"]


def start(cli: Cli, *words: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "dsctl", *words]
    return subprocess.Popen(
        command, env=cli.env, cwd=cli.cwd, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )


def lines(process: subprocess.Popen[str]) -> Iterator[dict]:
    assert process.stdout is not None
    with process.stdout:
        for line in process.stdout:
            yield json.loads(line)


def until_step(process: subprocess.Popen[str], step: str) -> None:
    """Read events until ``step`` starts; the rest of the output is left unread."""
    for event in lines(process):
        if event.get("kind") == "step.started" and event["data"]["step"] == step:
            return
    raise AssertionError(f"{step} never started")


def assert_nothing_left(cli: Cli) -> None:
    (past,) = cli.json_lines("ps", "--all")
    for run in past["runs"]:
        folder = cli.cwd / "state" / "box" / run["run"]
        assert processes(run["run_id"], folder) == []
    (document,) = cli.json_lines("ps")
    assert document["runs"] == []
    assert not list((cli.cwd / "state" / "box").glob("*"))


@pytest.mark.parametrize("step", KILLED_AT)
def test_up_is_killed_at_every_step_and_teardown_ends_it(sim_cli: Cli, step: str) -> None:
    process = start(sim_cli, *UP)
    until_step(process, step)
    process.kill()
    process.wait(10)
    again = sim_cli(*UP)
    assert again.returncode == 2, "the name must still be taken"
    done = sim_cli("teardown", "local-sim", "--yes")
    assert done.returncode == 0, done.stderr
    assert_nothing_left(sim_cli)
    once_more = sim_cli("teardown", "local-sim", "--yes")
    assert once_more.returncode == 0, "teardown is safe to repeat"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("step", ["launch/lmcache/start", "launch/decode1/ready"])
def test_a_signal_in_up_tears_down_and_says_so(sim_cli: Cli, step: str, number: int) -> None:
    process = start(sim_cli, *UP)
    until_step(process, step)
    process.send_signal(number)
    assert process.wait(60) == 128 + number
    assert_nothing_left(sim_cli)


def test_a_signal_may_leave_the_box_when_asked(sim_cli: Cli) -> None:
    process = start(sim_cli, *UP, "--on-failure", "keep")
    until_step(process, "launch/gateway/start")
    process.send_signal(signal.SIGTERM)
    assert process.wait(60) == 143
    (document,) = sim_cli.json_lines("ps")
    assert [run["name"] for run in document["runs"]] == ["local-sim"]
    assert sim_cli("teardown", "--yes").returncode == 0
    assert_nothing_left(sim_cli)


@pytest.mark.parametrize("victim", ["supervisord", "gateway", "decode0", "lmcache", "everything"])
def test_whatever_is_killed_teardown_is_clean(sim_cli: Cli, victim: str) -> None:
    up = sim_cli.json_lines(*UP_WORDS)
    folder = Path(next(e["data"]["slots"]["run.dir"] for e in up if e.get("kind") == "host.reached"))
    if victim == "everything":
        pids = processes(up[-1]["run_id"], folder)
        assert len(pids) == 6
    elif victim == "supervisord":
        pids = [int((folder / "supervisord.pid").read_text())]
    else:
        control = [
            sys.executable,
            "-m",
            "supervisor.supervisorctl",
            "-c",
            str(folder / "supervisord.conf"),
            "pid",
            victim,
        ]
        pids = [int(subprocess.run(control, capture_output=True, text=True, check=True).stdout)]
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    before = shm_files()
    done = sim_cli("teardown", "--yes")
    assert done.returncode == 0, done.stderr
    assert shm_files() <= before
    assert_nothing_left(sim_cli)


def test_a_teardown_that_is_killed_is_finished_by_the_next(sim_cli: Cli) -> None:
    sim_cli.json_lines(*UP_WORDS)
    process = start(sim_cli, "teardown", "--yes", "--json")
    for event in lines(process):
        if event.get("kind") == "step.started":
            break
    process.kill()
    process.wait(10)
    assert sim_cli("teardown", "--yes").returncode == 0
    assert_nothing_left(sim_cli)


def test_of_two_ups_at_once_one_wins_and_the_other_is_told(sim_cli: Cli) -> None:
    statuses: list[int] = []
    threads = [threading.Thread(target=lambda: statuses.append(sim_cli(*UP).returncode)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert sorted(statuses) == [0, 2]
    assert sim_cli("teardown", "--yes").returncode == 0
    assert_nothing_left(sim_cli)


def test_a_program_that_dies_at_once_is_a_failure_with_its_log(sim_cli: Cli) -> None:
    started = time.monotonic()
    done = sim_cli(*UP, "--set", "engine.args={no-such-flag: 1}")
    assert done.returncode == 6
    assert "no-such-flag" in done.stderr
    assert time.monotonic() - started < 30
    assert_nothing_left(sim_cli)
    (listing,) = sim_cli.json_lines("runbook", "ls")
    assert listing["runs"][0]["status"] == "failed"


def test_a_program_that_never_answers_is_not_ready_in_time(sim_cli: Cli) -> None:
    done = sim_cli(*UP, "--set", "engine.args={boot-ms: 60000}", "--set", "engine.boot_timeout=3s")
    assert done.returncode == 7
    assert_nothing_left(sim_cli)


def test_runbooks_that_cannot_be_written_stop_up_before_anything_starts(sim_cli: Cli) -> None:
    (sim_cli.cwd / "runbooks").write_text("a file, not a folder")
    done = sim_cli(*UP)
    assert done.returncode == 1
    assert "DSCTL_RUNBOOKS" in done.stderr
    (sim_cli.cwd / "runbooks").unlink()
    assert_nothing_left(sim_cli)


def test_a_deleted_runbook_does_not_keep_a_run_alive(sim_cli: Cli) -> None:
    up = sim_cli.json_lines(*UP_WORDS)
    runbook = Path(up[-1]["runbook"])
    for path in sorted(runbook.rglob("*"), reverse=True):
        path.unlink() if path.is_file() else path.rmdir()
    runbook.rmdir()
    assert sim_cli("teardown", "--yes").returncode == 0
    assert_nothing_left(sim_cli)
