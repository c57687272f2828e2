"""Knows how a measurement reads in Markdown: its table, what was not valid, its charts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dsctl.runbook.fold import Measurement

SIMULATED = "> **SIMULATED.** The engines are simulated; no figure here says anything about real ones.\n"
_HEAD = (
    "| asked req/s | sent | delivered | TTFT P50 ms | P95 | P99 | ITL P50 ms | P99 | reused | ideal | errors | valid |"
    "\n|---|---|---|---|---|---|---|---|---|---|---|---|"
)
_NOTHING = "\nNo rate was finished, so there is nothing to show.\n"
_CHARTS = (("asked against delivered", "asked-vs-delivered"), ("TTFT", "ttft"), ("reuse", "reuse"))


def sweep(bench: Measurement, *, simulated: bool) -> str:
    workload = ", ".join(f"{key} {value}" for key, value in bench.workload.items())
    label = "simulated" if simulated else "measured"
    return f"""\
## Bench {bench.number} ({label}): {bench.status}

Workload: {workload}; seed {bench.seed}. TTFT from the moment of sending.
{_table(bench, simulated=simulated) if bench.steps else _NOTHING}"""


def _table(bench: Measurement, *, simulated: bool) -> str:
    rows = "\n".join(_row(step) for step in bench.steps)
    remarks = "".join(_remarks(step) for step in bench.steps)
    folder = f"artifacts/bench-{bench.number}"
    charts = "\n".join(f"![{name}]({folder}/{file}.svg)" for name, file in _CHARTS)
    drawn = f"\n{charts}\n" if bench.status == "done" else ""
    banner = f"\n{SIMULATED}" if simulated else ""
    return f"{banner}\n{_HEAD}\n{rows}\n" + (f"\n{remarks}" if remarks else "") + drawn


def _row(step: Mapping[str, Any]) -> str:
    ttft, itl, reuse = step["ttft_ms"], step["itl_ms"], step["reuse"]
    cells = (
        f"{step['rate']:g}", f"{step['sent_rate']:.2f}", f"{step['delivered_rate']:.2f}",
        *(_number(ttft.get(key)) for key in ("p50", "p95", "p99")),
        *(_number(itl.get(key)) for key in ("p50", "p99")),
        _share(reuse.get("measured")), _share(reuse.get("ideal")), str(sum(step["errors"].values())),
        "yes" if step["valid"] else "**no**",
    )  # fmt: skip
    return f"| {' | '.join(cells)} |"


def _remarks(step: Mapping[str, Any]) -> str:
    """Why a rate does not count, and which errors there were."""
    errors = ", ".join(f"{count} {kind}" for kind, count in sorted(step["errors"].items()) if count)
    seen = f"- {step['rate']:g} req/s: {errors} among {step['requests']} requests\n" if errors else ""
    return seen if step["valid"] else f"- {step['rate']:g} req/s is not valid: {step['invalid_reason']}\n{seen}"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.1f}"


def _share(value: float | None) -> str:
    return "-" if value is None else f"{value * 100:.1f} %"
