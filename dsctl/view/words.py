"""Short texts that several views share: marks of a step's end, a line of a sweep."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dsctl.model.step import Status

_MARKS: dict[str, str] = {"ran": "ok", "unchanged": "==", "skipped": "--", "failed": "!!", "not-reached": ".."}


def step_mark(status: Status) -> str:
    """Two characters that align: ok, == (already so), -- (skipped), !! (failed)."""
    return _MARKS[status]


def bench_progress(data: Mapping[str, Any]) -> str:
    counts = f"sent {data['sent']}, done {data['done']}, in flight {data.get('inflight', 0)}, errors {data['errors']}"
    return f"{data['rate']:g} req/s: {counts}"


def bench_step(data: Mapping[str, Any]) -> str:
    """One rate's result in a line."""
    ttft = data["ttft_ms"]
    shown = f"TTFT P50 {ms(ttft.get('p50'))} P95 {ms(ttft.get('p95'))}"
    errors = sum(data["errors"].values())
    label = " (simulated)" if data.get("simulated") else ""
    return f"{data['rate']:g} req/s{label}: delivered {data['delivered_rate']:.2f}, {shown}, errors {errors}"


def ms(value: float | None) -> str:
    """Milliseconds below a second, seconds above, a dash for what was not measured."""
    if value is None:
        return "-"
    return f"{value:.0f} ms" if value < 1000 else f"{value / 1000:.2f} s"


def percent(value: float | None) -> str:
    return "-" if value is None else f"{value * 100:.1f} %"
