"""Knows what a program on the box is: a process the supervisor keeps, with its port and its readiness probe."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Kind = Literal["store", "engine", "gateway"]


@dataclass(frozen=True, slots=True)
class Program:
    """``role`` names it everywhere (``lmcache``, ``prefill0``, ``decode1``, ``gateway``).

    ``argv`` and ``env`` are templates (see ``dsctl.model.step``). ``health`` is a URL template that answers 200
    when ready. ``ports`` are every TCP port it binds. ``boot_s`` is the longest a healthy start may take.
    """

    role: str
    kind: Kind
    argv: tuple[str, ...]
    ports: tuple[int, ...]
    health: str
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    boot_s: float = 300.0
    stop_s: float = 15.0
