"""Programs to steps: stop in the order that loses least (front door, engines, store), then prove nothing is left."""

from __future__ import annotations

from dsctl.model.program import Program
from dsctl.model.step import Run, Step
from dsctl.stages.supervision import control

_ORDER = ("gateway", "engine", "store")


def steps(programs: tuple[Program, ...]) -> tuple[Step, ...]:
    """Best effort, each: a part that is already dead makes no later step fail. The provider's proof comes after."""
    result: list[Step] = []
    for kind in _ORDER:
        roles = [p.role for p in programs if p.kind == kind]
        if not roles:
            continue
        longest = max(p.stop_s for p in programs if p.kind == kind)
        name = roles[0] if len(roles) == 1 else "engines"
        result.append(_step(f"teardown/{name}/stop", name, f"Stop {', '.join(roles)}", ("stop", *roles), longest + 15))
    result.append(_step("teardown/box/supervisord", "box", "Stop supervisord", ("shutdown",), 30))
    return tuple(result)


def _step(step_id: str, role: str, title: str, words: tuple[str, ...], timeout_s: float) -> Step:
    return Step(step_id, "teardown", role, title, Run(control(*words)), timeout_s=timeout_s)
