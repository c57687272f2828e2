"""Knows what a step's samples amount to. Only the steady window counts: after the warm-up, before the drain.

TTFT is given from the moment of sending and from the moment a request was due; the second hides nothing of a late
client. A step whose client was late, or sent less than the schedule asked, is marked invalid and says why.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dsctl.bench.samples import Sample
from dsctl.bench.scrape import PromptTokens

LATE_S = 0.005
LATE_PART = 0.05
SENT_PART = 0.99


@dataclass(frozen=True, slots=True)
class StepFacts:
    """What is known of a step beside its samples. Window in seconds from the step's start."""

    rate: float
    window: tuple[float, float]
    prompt_tokens: int
    shared_tokens: int
    used: Mapping[str, PromptTokens]
    simulated: bool


def summarize(samples: Sequence[Sample], facts: StepFacts) -> dict[str, Any]:
    """One row of a sweep; latencies in milliseconds, rates per second."""
    start, end = facts.window
    inside = [sample for sample in samples if start <= sample.due < end]
    good = [sample for sample in inside if sample.ok]
    finished = [sample for sample in samples if sample.ok and start <= sample.ended < end]
    seconds = end - start
    gaps = [b - a for sample in good for a, b in zip(sample.tokens_at, sample.tokens_at[1:], strict=False)]
    ttft = spread([sample.tokens_at[0] - sample.sent for sample in good])
    lateness = spread([sample.sent - sample.due for sample in inside if sample.sent])
    summary: dict[str, Any] = {
        "rate": facts.rate,
        "sent_rate": _rate([sample.sent for sample in inside if sample.sent]),
        "due_rate": _rate([sample.due for sample in inside]),
        "delivered_rate": len(finished) / seconds,
        "window_s": seconds,
        "requests": len(inside),
        "ok": len(good),
        "errors": dict(Counter(sample.error for sample in inside if sample.error)),
        "ttft_ms": ttft,
        "ttft_schedule_ms": spread([sample.tokens_at[0] - sample.due for sample in good]),
        "itl_ms": spread(gaps),
        "tpot_ms": spread([_tpot(sample) for sample in good if sample.output_tokens > 1]),
        "e2e_ms": spread([sample.ended - sample.sent for sample in good]),
        "lateness_ms": lateness,
        "input_tokens_per_s": sum(sample.prompt_tokens for sample in finished) / seconds,
        "output_tokens_per_s": sum(sample.output_tokens for sample in finished) / seconds,
        "prompt_tokens": facts.prompt_tokens,
        "reuse": reuse(samples, facts),
        "simulated": facts.simulated,
    }
    reason = _invalid(summary)
    return {**summary, "valid": not reason, "invalid_reason": reason}


def reuse(samples: Sequence[Sample], facts: StepFacts) -> dict[str, Any]:
    """Over the whole step, warm-up included: the first prompt of a step is always computed."""
    asked = sum(sample.prompt_tokens for sample in samples)
    computed = sum(tokens.computed for tokens in facts.used.values())
    return {
        "measured": 1 - computed / asked if asked and facts.used else None,
        "ideal": facts.shared_tokens / facts.prompt_tokens if facts.prompt_tokens else None,
        "by_role": {role: tokens.to_json() for role, tokens in facts.used.items()},
    }


def spread(seconds: Sequence[float]) -> dict[str, float | int | None]:
    """P50, P95 and P99 in milliseconds, and how many values they stand on; None where there is none."""
    ordered = sorted(seconds)
    points = {f"p{percent}": percentile(ordered, percent / 100) for percent in (50, 95, 99)}
    shown = {name: None if value is None else round(value * 1000, 3) for name, value in points.items()}
    return {**shown, "n": len(ordered)}


def percentile(ordered: Sequence[float], part: float) -> float | None:
    """Linear between neighbours, as NumPy's default; ``ordered`` ascending."""
    if not ordered:
        return None
    place = part * (len(ordered) - 1)
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)


def _rate(times: Sequence[float]) -> float:
    """(n - 1) over the time between first and last."""
    if len(times) < 2:
        return 0.0
    length = max(times) - min(times)
    return (len(times) - 1) / length if length else 0.0


def _tpot(sample: Sample) -> float:
    return (sample.tokens_at[-1] - sample.tokens_at[0]) / (sample.output_tokens - 1)


def _invalid(summary: Mapping[str, Any]) -> str:
    if summary["requests"] < 2:
        return "fewer than two requests were due in the window; ask for a longer duration or a higher rate"
    late, ttft = summary["lateness_ms"]["p99"], summary["ttft_ms"]["p50"]
    allowed = max(LATE_S * 1000, LATE_PART * (ttft or 0.0))
    if late is not None and late > allowed:
        return f"the client was late: P99 {late:.1f} ms, allowed {allowed:.1f} ms"
    if summary["sent_rate"] < SENT_PART * summary["due_rate"]:
        return f"{summary['sent_rate']:.2f} req/s were sent where {summary['due_rate']:.2f} were due"
    return ""
