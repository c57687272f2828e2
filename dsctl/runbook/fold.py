"""Events to the state of a run: the one place where state is derived. Nothing else remembers anything."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from dsctl.model.event import Event

RunStatus = Literal[
    "opening", "running", "ready", "benching", "tearing-down",
    "failed", "interrupted", "crashed", "torn-down", "teardown-unconfirmed",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class StepState:
    """``seconds`` is None while a step runs, and for ever when its process was killed. ``at``: seconds into the run."""

    id: str
    phase: str
    title: str
    argv: tuple[str, ...]
    at: float
    status: str = "started"
    seconds: float | None = None
    observed: Mapping[str, Any] = field(default_factory=dict[str, Any])
    error: str = ""

    @property
    def end(self) -> float:
        """Seconds into the run; where it began, when it never ended."""
        return self.at + (self.seconds or 0.0)


@dataclass(frozen=True, slots=True)
class Measurement:
    """One ``dsctl bench``: what was asked, one summary a rate. ``status``: running, done, partial or killed."""

    number: int
    workload: Mapping[str, Any]
    seed: int
    steps: tuple[Mapping[str, Any], ...] = ()
    status: str = "running"


@dataclass(frozen=True, slots=True)
class RunState:
    """``phases``: seconds spent in each that ended; ``phase``: those begun and not ended.

    ``gone`` is the evidence of the teardown, with ``confirmed`` in it; ``closed`` what the run ended as, if it did.
    """

    identity: Mapping[str, Any] = field(default_factory=dict[str, Any])
    started: str = ""
    status: RunStatus = "opening"
    plan_digest: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict[str, Any])
    slots: Mapping[str, str] = field(default_factory=dict[str, str])
    steps: tuple[StepState, ...] = ()
    phases: Mapping[str, float] = field(default_factory=dict[str, float])
    phase: tuple[str, ...] = ()
    ready: Mapping[str, Any] = field(default_factory=dict[str, Any])
    benches: tuple[Measurement, ...] = ()
    failure: Mapping[str, Any] = field(default_factory=dict[str, Any])
    tearing: bool = False
    gone: Mapping[str, Any] = field(default_factory=dict[str, Any])
    closed: str = ""
    ended: str = ""

    @property
    def simulated(self) -> bool:
        return bool(self.identity.get("simulated"))


def fold(events: Sequence[Event], *, writing: bool | None = None) -> RunState:
    """``writing``: whether a living process still has the journal open; None when nobody looked.

    Only that tells *still starting* from *killed while starting*; without it an unended last step counts as a crash.
    """
    state = RunState()
    for event in events:
        state = _after(state, event)
    alive = not _dangling(state) if writing is None else writing
    return replace(state, status=_status(state, alive=alive), benches=_benches(state, alive=alive))


def _dangling(state: RunState) -> bool:
    return any(step.status == "started" for step in state.steps)


def _status(state: RunState, *, alive: bool) -> RunStatus:
    """What may still be running or billing comes first, then how it failed, then how far it got."""
    if state.closed == "teardown-unconfirmed" or (state.gone and not state.gone["confirmed"]):
        return "teardown-unconfirmed"
    if state.tearing and not state.closed:
        return "tearing-down" if alive else "teardown-unconfirmed"
    if state.failure:
        return "interrupted" if state.failure.get("code") == "interrupted" else "failed"
    if state.closed:
        return "torn-down" if state.ready else "crashed"
    if state.ready:
        busy = alive and bool(state.benches) and state.benches[-1].status == "running"
        return "benching" if busy else "ready"
    if not alive:
        return "crashed"
    return "running" if state.phase else "opening"


def _benches(state: RunState, *, alive: bool) -> tuple[Measurement, ...]:
    """A bench without an end, when nobody writes any more or another one came after it, was killed."""
    last = len(state.benches) - 1
    return tuple(
        replace(bench, status="killed") if bench.status == "running" and (index < last or not alive) else bench
        for index, bench in enumerate(state.benches)
    )


def _after(state: RunState, event: Event) -> RunState:
    data: Any = event.data
    match event.kind:
        case "run.opened":
            return replace(state, identity=data, started=event.at)
        case "plan.compiled" | "host.reached" | "facts.seen":
            return _after_fact(state, event)
        case "step.started" | "step.ended":
            return _after_step(state, event)
        case "phase.started" | "phase.ended":
            return _after_phase(state, event)
        case "ready.seen":
            return replace(state, ready=data)
        case "bench.started" | "bench.step" | "bench.ended":
            return _after_bench(state, event)
        case _:
            return _after_end(state, event)


def _after_fact(state: RunState, event: Event) -> RunState:
    data: Any = event.data
    if event.kind == "plan.compiled":
        return replace(state, plan_digest=data["digest"])
    if event.kind == "host.reached":
        return replace(state, slots=data.get("slots", {}))
    return replace(state, facts=data["facts"])


def _after_step(state: RunState, event: Event) -> RunState:
    data: Any = event.data
    if event.kind == "step.started":
        step = StepState(data["step"], data["phase"], data["title"], tuple(data["argv"]), event.mono)
        return replace(state, steps=(*state.steps, step))
    steps = list(state.steps)
    for index in range(len(steps) - 1, -1, -1):
        if steps[index].id == data["step"]:
            observed: dict[str, Any] = data.get("observed") or {}
            steps[index] = replace(
                steps[index],
                status=data["status"], seconds=data["seconds"], observed=observed, error=data.get("error") or "",
            )  # fmt: skip
            break
    return replace(state, steps=tuple(steps))


def _after_phase(state: RunState, event: Event) -> RunState:
    data: Any = event.data
    name = data["phase"]
    if event.kind == "phase.started":
        return replace(state, phase=(*state.phase, name))
    state = replace(state, phase=tuple(phase for phase in state.phase if phase != name))
    if data.get("seconds") is None:
        return state
    seconds = round(state.phases.get(name, 0.0) + data["seconds"], 3)
    return replace(state, phases={**state.phases, name: seconds})


def _after_bench(state: RunState, event: Event) -> RunState:
    data: Any = event.data
    if event.kind == "bench.started":
        number = data.get("number", len(state.benches) + 1)
        return replace(state, benches=(*state.benches, Measurement(number, data["workload"], data["seed"])))
    if not state.benches:
        return state  # its beginning was lost with a damaged line; verify says so
    *before, current = state.benches
    if event.kind == "bench.step":
        changed = replace(current, steps=(*current.steps, data))
    else:
        changed = replace(current, status=data["status"])
    return replace(state, benches=(*before, changed))


def _after_end(state: RunState, event: Event) -> RunState:
    match event.kind:
        case "run.failed":
            return replace(state, failure=event.data)
        case "teardown.started":
            return replace(state, tearing=True, gone={}, closed="", ended="")
        case "lease.gone" | "lease.unconfirmed":
            return replace(state, gone={**event.data, "confirmed": event.kind == "lease.gone"})
        case "run.closed":
            return replace(state, closed=str(event.data["status"]), ended=event.at)
        case _:
            return state
