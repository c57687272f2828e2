"""The CI smoke job of docs/how-to/ci-smoke.md, on simulated engines."""

from __future__ import annotations

import json
import re
import signal
import socket
from pathlib import Path

import pytest

from tests.crash.test_kills import PORTS, assert_nothing_left, lines, start
from tests.e2e.conftest import Cli


def test_up_bench_teardown_with_json_and_exit_statuses(sim_cli: Cli) -> None:
    up = sim_cli.json_lines("up", "local-sim", "--yes", *PORTS)
    assert up[-1]["schema"] == "dsctl.up/1"
    assert up[-1]["simulated"] is True
    assert all(line["schema"] == "dsctl.event/1" for line in up[:-1])
    bench = sim_cli.json_lines(
        "bench", "local-sim", "--rate", "8", "--duration", "2s", "--slo", "ttft_p95=2s,error_rate=1%"
    )
    result = bench[-1]
    assert result["simulated"] is True
    assert all(verdict["ok"] for verdict in result["verdicts"])
    (step,) = result["steps"]
    assert step["simulated"] is True
    assert step["reuse"]["measured"] > 0.3
    for chart in ("asked-vs-delivered.svg", "ttft.svg", "reuse.svg"):
        text = Path(result["folder"], chart).read_text()
        assert "SIMULATED" in text
        assert not re.search(r"""(href|src)=["']https?:|url\(["']?https?:|@import""", text), f"{chart} asks the network"
    missed = sim_cli("bench", "--rate", "8", "--duration", "1s", "--warmup", "0s", "--slo", "ttft_p50=1ms", "--json")
    assert missed.returncode == 8
    assert json.loads(missed.stdout.splitlines()[-1])["code"] == "expectation"
    gone = sim_cli.json_lines("teardown", "local-sim", "--yes")
    assert gone[-1]["runs"][0]["evidence"]["clean"] is True
    readme = Path(up[-1]["runbook"], "README.md").read_text()
    assert "SIMULATED" in readme
    assert_nothing_left(sim_cli)


@pytest.mark.parametrize(
    ("words", "status", "said", "hint"),
    [
        (("up", "local-sim", "--yes", *PORTS, "--set", "hardware.memory=900TiB"), 4, "900.0 TiB", "hardware.memory"),
        (("up", "local-sim", "--yes", *PORTS, "--set", "hardware.disk=900TiB"), 4, "No space left", "DSCTL_CACHE_DIR"),
        (("up", "local-sim", "--yes", *PORTS, "--set", "hardware.cpus=999"), 4, "999", "hardware.cpus"),
        (("up", "local-sim", "--yes", *PORTS, "--set", "kv.porrt=1"), 2, "unknown key", "port"),
        (("up", "local-sinn", "--yes"), 2, "local-sinn", "did you mean local-sim?"),
        (("up", "local-sim"), 2, "Nobody is there to answer", "--yes"),
        (("teardown", "nobody", "--yes"), 2, "nobody", "dsctl ps -a"),
        (("teardown", "--yes"), 2, "no run is up", "dsctl up"),
        (("bench",), 2, "no run is up", "dsctl up"),
        (("logs", "nobody"), 2, "nobody", "dsctl ps -a"),
        (("runbook", "show", "nobody"), 2, "", ""),
        (("no-such-command",), 2, "no-such-command", ""),
    ],
)
def test_what_cannot_be_done_is_said_with_its_status_and_starts_nothing(
    sim_cli: Cli, words: tuple[str, ...], status: int, said: str, hint: str
) -> None:
    done = sim_cli(*words)
    assert done.returncode == status, done.stderr
    assert said in done.stderr
    assert hint in done.stderr
    assert "Traceback" not in done.stderr
    assert_nothing_left(sim_cli)


def test_a_taken_port_is_said_with_who_holds_it(sim_cli: Cli) -> None:
    with socket.create_server(("127.0.0.1", 18000)):
        done = sim_cli("up", "local-sim", "--yes", *PORTS)
    assert done.returncode == 4
    assert "port 18000 (gateway) is in use by pid" in done.stderr
    assert "--set gateway.port=" in done.stderr
    assert_nothing_left(sim_cli)


def test_a_dry_run_writes_nothing_anywhere(sim_cli: Cli) -> None:
    done = sim_cli("up", "local-sim", "--dry-run", *PORTS)
    assert done.returncode == 0
    assert list(sim_cli.cwd.iterdir()) == []


def test_an_interrupted_bench_keeps_what_it_measured_and_the_run(sim_cli: Cli) -> None:
    up = sim_cli.json_lines("up", "local-sim", "--yes", *PORTS)
    process = start(sim_cli, "bench", "--rate", "5,500", "--duration", "2s", "--warmup", "0s", "--json")
    for event in lines(process):
        if event.get("kind") == "bench.step":
            break
    process.send_signal(signal.SIGINT)
    assert process.wait(60) == 130
    result = json.loads(Path(up[-1]["runbook"], "artifacts", "bench-1", "result.json").read_text())
    assert result["status"] == "interrupted"
    assert len(result["steps"]) == 1
    (document,) = sim_cli.json_lines("ps")
    assert document["runs"][0]["health"] == "running"
    assert sim_cli("teardown", "--yes").returncode == 0
    assert_nothing_left(sim_cli)
