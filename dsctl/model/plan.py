"""Knows what a plan is: the profile compiled to programs, slots and steps. Pure data, with one digest."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from dsctl.core.digest import digest
from dsctl.model.program import Program
from dsctl.model.step import Expect, Phase, Put, Run, Step

SCHEMA = "dsctl.plan/1"


@dataclass(frozen=True, slots=True)
class Plan:
    """``slots``: values known at compile time; those of the box (``run.dir``, ``engine.python``) come at run time.

    ``simulated``: true when any figure this plan produces comes from the simulated engine.
    """

    profile: str
    profile_digest: str
    simulated: bool
    slots: Mapping[str, str]
    programs: tuple[Program, ...]
    steps: tuple[Step, ...]

    def phase(self, phase: Phase) -> Iterator[Step]:
        return (step for step in self.steps if step.phase == phase)

    def program(self, role: str) -> Program:
        return next(program for program in self.programs if program.role == role)

    def to_json(self) -> dict[str, Any]:
        """The document that is digested, stored in the runbook and printed by ``dsctl plan --json``."""
        return {
            "schema": SCHEMA,
            "profile": self.profile,
            "profile_digest": self.profile_digest,
            "simulated": self.simulated,
            "slots": dict(sorted(self.slots.items())),
            "programs": [
                {"role": p.role, "kind": p.kind, "ports": list(p.ports), "health": p.health} for p in self.programs
            ],
            "steps": [step_json(step) for step in self.steps],
        }

    def digest(self) -> str:
        return digest(self.to_json())


def step_json(step: Step) -> dict[str, Any]:
    """One step as plain data; ``action`` is ``{"run": {...}}`` or ``{"put": {...}}``."""
    return {
        "id": step.id,
        "phase": step.phase,
        "role": step.role,
        "title": step.title,
        "action": _action_json(step.action),
        "needs": list(step.needs),
        "guard": list(step.guard),
        "expect": [{"path": e.path, "op": e.op, "value": e.value} for e in step.expect],
        "timeout_s": step.timeout_s,
        "not_ready": step.not_ready,
    }


def _action_json(action: Run | Put) -> dict[str, Any]:
    if isinstance(action, Run):
        return {"run": {"argv": list(action.argv), "env": dict(sorted(action.env.items())), "log": action.log}}
    if action.source:
        return {"put": {"path": action.path, "source": action.source, "sha256": action.sha256}}
    return {"put": {"path": action.path, "text": action.text}}


def plan_from_json(document: Mapping[str, Any]) -> Plan:
    """The inverse of ``Plan.to_json`` for what running needs: a stored plan can be torn down or resumed.

    Programs come back without their command lines: those live in the supervisor's configuration step.
    """
    programs = tuple(
        Program(role=p["role"], kind=p["kind"], argv=(), ports=tuple(p["ports"]), health=p["health"])
        for p in document["programs"]
    )
    steps = tuple(_step_from_json(step) for step in document["steps"])
    head = {key: document[key] for key in ("profile", "profile_digest", "simulated", "slots")}
    return Plan(**head, programs=programs, steps=steps)


def _step_from_json(step: Mapping[str, Any]) -> Step:
    kind, fields = next(iter(step["action"].items()))
    action = Put(**fields) if kind == "put" else Run(tuple(fields["argv"]), fields["env"], fields["log"])
    return Step(
        id=step["id"],
        phase=step["phase"],
        role=step["role"],
        title=step["title"],
        action=action,
        needs=tuple(step["needs"]),
        guard=tuple(step["guard"]),
        expect=tuple(Expect(**expect) for expect in step["expect"]),
        timeout_s=step["timeout_s"],
        not_ready=step["not_ready"],
    )
