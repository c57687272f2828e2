"""A host together with the slot values that hold on it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from dsctl.model.lease import Lease
from dsctl.model.plan import Plan
from dsctl.model.step import render
from dsctl.ports.host import Host


@dataclass(frozen=True, slots=True)
class Box:
    host: Host
    slots: Mapping[str, str]

    def fill(self, template: str) -> str:
        return render(template, self.slots)

    def fill_all(self, templates: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(self.fill(template) for template in templates)


def open_box(host: Host, lease: Lease, plan: Plan) -> Box:
    """The plan's slots, the lease's layout, and the folders that follow from both."""
    slots = {**plan.slots, **lease.layout}
    if "engine.digest" in slots:
        slots["engine.dir"] = f"{slots['engine.root']}/{slots['engine.digest']}"
    if "model.digest" in slots:
        slots["model.dir"] = f"{slots['model.root']}/{slots['model.digest']}"
    return Box(host, slots)
