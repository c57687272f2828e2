"""Knows what an offer and a lease are: a box that could be had, and one that is held."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

LeaseState = Literal["intent", "live", "gone", "unconfirmed"]


@dataclass(frozen=True, slots=True)
class Offer:
    """``usd_per_hour`` is all-in: GPU and disk. ``what`` is one line for people."""

    provider: str
    id: str
    what: str
    usd_per_hour: float


@dataclass(frozen=True, slots=True)
class Lease:
    """``layout``: slot values that say where things lie on the box (``run.dir``, ``engine.root``, ``box.python``)."""

    provider: str
    instance: str
    run_id: str
    usd_per_hour: float
    layout: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True)
class Gone:
    """Proof that a lease holds nothing any more; ``clean`` is false when something remains, named in ``remains``."""

    clean: bool
    remains: tuple[str, ...]
    evidence: Mapping[str, Any]
