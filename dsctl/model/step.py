"""Knows what a step is: one thing done on the box, written as data a person could run by hand.

Templates name values as slots, ``{prefill0.port}``; braces that are not slots (JSON in an argument) stay as they are.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Phase = Literal["bootstrap", "weights", "launch", "ready", "bench", "teardown"]
PHASES: tuple[Phase, ...] = ("bootstrap", "weights", "launch", "ready", "bench", "teardown")
Status = Literal["ran", "unchanged", "skipped", "failed", "not-reached"]
Op = Literal["==", ">=", "<=", "contains"]

_SLOT = re.compile(r"\{([a-z][a-z0-9_]*(?:\.[a-z0-9_]+)+)\}")


@dataclass(frozen=True, slots=True)
class Expect:
    """What the last line of stdout, a JSON object, must hold at ``path`` (dotted). Exit status 0 is implied."""

    path: str
    op: Op
    value: Any


@dataclass(frozen=True, slots=True)
class Run:
    """A command: argv template and environment template. ``log`` is a file on the box to show when it fails."""

    argv: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    log: str = ""


@dataclass(frozen=True, slots=True)
class Put:
    """A file on the box: path and text templates; or ``source``, a file of the dsctl package, with its digest."""

    path: str
    text: str = ""
    source: str = ""
    sha256: str = ""


@dataclass(frozen=True, slots=True)
class Step:
    """One stable id (``launch/prefill0/start``), one action, and what must be true before and after it.

    ``guard`` is a command that exits 0 when the work is already done: the step is then ``unchanged``.
    ``needs`` are ids of steps that must have succeeded. ``not_ready`` says that running out of time means
    *not ready* (exit 7) rather than *failed* (exit 6). ``timeout_s`` in seconds.
    """

    id: str
    phase: Phase
    role: str
    title: str
    action: Run | Put
    needs: tuple[str, ...] = ()
    guard: tuple[str, ...] = ()
    expect: tuple[Expect, ...] = ()
    timeout_s: float = 60.0
    not_ready: bool = False


def render(template: str, slots: Mapping[str, str]) -> str:
    """Fill every slot that has a value; a slot without one stays visible as ``{name}``."""
    return _SLOT.sub(lambda m: slots.get(m.group(1), m.group(0)), template)


def slots_in(template: str) -> tuple[str, ...]:
    """The slot names a template uses, in order of appearance."""
    return tuple(m.group(1) for m in _SLOT.finditer(template))
