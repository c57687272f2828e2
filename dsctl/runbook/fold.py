"""Events to the state of a run: the one place where state is derived. Nothing else remembers anything."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from dsctl.model.event import Event


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


@dataclass(frozen=True, slots=True)
class Measurement:
    """One ``dsctl bench``: what was asked, one summary a rate, and where its files lie."""

    number: int
    workload: Mapping[str, Any]
    seed: int
    steps: tuple[Mapping[str, Any], ...] = ()
    status: str = "running"


@dataclass(frozen=True, slots=True)
class RunState:
    """``status``: opening, ready, failed, crashed, torn-down or teardown-unconfirmed."""

    identity: Mapping[str, Any] = field(default_factory=dict[str, Any])
    started: str = ""
    status: str = "opening"
    plan_digest: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict[str, Any])
    slots: Mapping[str, str] = field(default_factory=dict[str, str])
    steps: tuple[StepState, ...] = ()
    phases: Mapping[str, float] = field(default_factory=dict[str, float])
    ready: Mapping[str, Any] = field(default_factory=dict[str, Any])
    benches: tuple[Measurement, ...] = ()
    failure: Mapping[str, Any] = field(default_factory=dict[str, Any])
    gone: Mapping[str, Any] = field(default_factory=dict[str, Any])
    ended: str = ""

    @property
    def simulated(self) -> bool:
        return bool(self.identity.get("simulated"))


def fold(events: Sequence[Event]) -> RunState:
    state = RunState()
    for event in events:
        state = _after(state, event)
    dangling = any(step.status == "started" for step in state.steps)
    return replace(state, status="crashed") if dangling and state.status == "opening" else state


def _after(state: RunState, event: Event) -> RunState:
    data: Any = event.data
    match event.kind:
        case "run.opened":
            return replace(state, identity=data, started=event.at)
        case "plan.compiled" | "host.reached" | "facts.seen":
            return _after_fact(state, event)
        case "step.started" | "step.ended":
            return _after_step(state, event)
        case "phase.ended" if data["seconds"] is not None:
            seconds = round(state.phases.get(data["phase"], 0.0) + data["seconds"], 3)
            return replace(state, phases={**state.phases, data["phase"]: seconds})
        case "ready.seen":
            return replace(state, ready=data, status="ready")
        case "bench.started" | "bench.step" | "bench.ended":
            return _after_bench(state, event)
        case _:
            return _after_end(state, event)


def _after_fact(state: RunState, event: Event) -> RunState:
    data: Any = event.data
    if event.kind == "plan.compiled":
        return replace(state, plan_digest=data["digest"])
    if event.kind == "host.reached":
        return replace(state, slots=data["slots"])
    return replace(state, facts=data["facts"])


def _after_step(state: RunState, event: Event) -> RunState:
    data: Any = event.data
    if event.kind == "step.started":
        step = StepState(data["step"], data["phase"], data["title"], tuple(data["argv"]), event.mono)
        return replace(state, steps=(*state.steps, step))
    steps = list(state.steps)
    for index in range(len(steps) - 1, -1, -1):
        if steps[index].id == data["step"]:
            observed = data.get("observed") or {}
            steps[index] = replace(steps[index], status=data["status"], seconds=data["seconds"], observed=observed)
            break
    return replace(state, steps=tuple(steps))


def _after_bench(state: RunState, event: Event) -> RunState:
    data: Any = event.data
    if event.kind == "bench.started":
        begun = Measurement(data["number"], data["workload"], data["seed"])
        return replace(state, benches=(*state.benches, begun))
    *before, current = state.benches
    if event.kind == "bench.step":
        changed = replace(current, steps=(*current.steps, data))
    else:
        changed = replace(current, status=data["status"])
    return replace(state, benches=(*before, changed))


def _after_end(state: RunState, event: Event) -> RunState:
    match event.kind:
        case "run.failed":
            return replace(state, failure=event.data, status="failed")
        case "lease.gone" | "lease.unconfirmed":
            return replace(state, gone={**event.data, "confirmed": event.kind == "lease.gone"})
        case "run.closed":
            failed = state.status == "failed" and event.data["status"] == "torn-down"
            return replace(state, ended=event.at, status="failed" if failed else str(event.data["status"]))
        case _:
            return state
