"""Knows how a run's time reads: a waterfall of its steps, and the chain of steps that decided how long it took."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dsctl.core.units import show_duration
from dsctl.runbook.fold import StepState

_BAR = 32
_SHORTEST_SHOWN_S = 0.5
_SLACK_S = 0.05
"""Between the end of one step and the start of the next that waited for it."""
_ASIDE = ("bench", "teardown")
"""Phases with times of their own, which say nothing about how long it took to be ready."""


def timeline(steps: Sequence[StepState], needs: Mapping[str, Sequence[str]]) -> str:
    """Markdown, or nothing when no step took long enough to be seen. ``needs``: ids of steps each step waited for."""
    way = [step for step in steps if step.phase not in _ASIDE]
    shown = [step for step in way if _shown(step)]
    if not shown:
        return ""
    end = max((step.end for step in way), default=0.0) or 1.0
    width = max(len(step.id) for step in shown)
    bars = "\n".join(_bar(step, end, width) for step in shown)
    path = [step for step in critical_path(way, needs) if _shown(step)]
    total = show_duration(sum(step.seconds or 0.0 for step in path))
    chain = " -> ".join(f"{step.id} ({show_duration(step.seconds or 0.0)})" for step in path)
    named = f"\nCritical path, {total} of {show_duration(end)}: {chain}\n" if path else ""
    return f"## Timeline\n\nMeasured from the start of the run.\n\n```\n{bars}\n```\n{named}"


def critical_path(steps: Sequence[StepState], needs: Mapping[str, Sequence[str]]) -> list[StepState]:
    """Backwards from the step that ended last: each time the one it waited for longest.

    Where the plan names nothing that ran, that is whatever had ended last when the step began.
    """
    path: list[StepState] = []
    candidates = [step for step in steps if step.seconds is not None]
    while candidates:
        last = max(candidates, key=lambda step: step.end)
        path.append(last)
        before = [
            step
            for step in steps
            if step.seconds is not None and step not in path and step.end <= last.at + _SLACK_S and step.at <= last.at
        ]
        candidates = [step for step in before if step.id in needs.get(last.id, ())] or before
    return path[::-1]


def _shown(step: StepState) -> bool:
    return step.seconds is None or step.seconds >= _SHORTEST_SHOWN_S or step.status == "failed"


def _bar(step: StepState, end: float, width: int) -> str:
    seconds = step.seconds or 0.0
    length = max(1, round(_BAR * seconds / end))
    start = min(round(_BAR * step.at / end), _BAR - 1)
    bar = (" " * start + ("#" if step.seconds is not None else "?") * length)[:_BAR].ljust(_BAR)
    took, status = (show_duration(seconds), step.status) if step.seconds is not None else ("-", "not ended")
    return f"{step.id:<{width}} |{bar}| {took:>6} {status}"
