"""The CI smoke job of docs/how-to/ci-smoke.md, on simulated engines."""

from __future__ import annotations

import json
import re
from pathlib import Path

from tests.crash.test_kills import PORTS, assert_nothing_left
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
