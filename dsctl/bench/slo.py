"""Knows service-level objectives: ``ttft_p95=2s,itl_p99=80ms,error_rate=1%`` against the steps of a sweep."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dsctl.core.errors import UsageFault
from dsctl.core.units import parse_duration, show_duration

_LATENCIES = ("ttft", "ttft_schedule", "itl", "tpot", "e2e")
_NAME = re.compile(rf"^({'|'.join(_LATENCIES)})_(p50|p95|p99)$")


@dataclass(frozen=True, slots=True)
class Objective:
    """``limit``: seconds for a latency, a part of 1 for ``error_rate``."""

    name: str
    limit: float


def parse_slo(text: str) -> tuple[Objective, ...]:
    """Raises UsageFault for a name or value that is none."""
    return tuple(_objective(part.strip()) for part in text.split(",") if part.strip())


def check(objectives: Sequence[Objective], steps: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """One verdict an objective and step. What could not be measured has missed."""
    return [_verdict(objective, step) for step in steps for objective in objectives]


def _objective(text: str) -> Objective:
    name, _, value = text.partition("=")
    hint = "ttft_p95=2s,itl_p99=80ms,error_rate=1%"
    try:
        if _NAME.match(name):
            return Objective(name, parse_duration(value))
        if name == "error_rate":
            return Objective(name, float(value.removesuffix("%")) / (100 if value.endswith("%") else 1))
    except ValueError as error:
        raise UsageFault(f"--slo {text}: {error}", hint=hint) from error
    raise UsageFault(f"--slo {text}: {name!r} is no objective", hint=hint)


def _verdict(objective: Objective, step: Mapping[str, Any]) -> dict[str, Any]:
    seen = _seen(objective.name, step)
    ok = seen is not None and seen <= objective.limit
    label = " (simulated)" if step["simulated"] else ""
    shown, limit = (_shown(objective.name, value) for value in (seen, objective.limit))
    text = f"{'met' if ok else 'MISSED'}: {objective.name} {shown} at {step['rate']:g} req/s, limit {limit}{label}"
    return {
        "objective": objective.name,
        "rate": step["rate"],
        "seen": seen,
        "limit": objective.limit,
        "ok": ok,
        "text": text,
    }


def _seen(name: str, step: Mapping[str, Any]) -> float | None:
    if name == "error_rate":
        return sum(step["errors"].values()) / step["requests"] if step["requests"] else None
    latency, _, point = name.rpartition("_")
    value = step[f"{latency}_ms"][point]
    return None if value is None else value / 1000


def _shown(name: str, value: float | None) -> str:
    if value is None:
        return "not measured"
    return (
        f"{value * 100:.2f} %"
        if name == "error_rate"
        else show_duration(value)
        if value >= 1
        else f"{value * 1000:.1f} ms"
    )
