"""Knows what an engine and a KV mover must say about themselves. They describe; they do nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol

from dsctl.model.profile import Profile
from dsctl.model.program import Program

GatewayMode = Literal["pd", "replicas"]


@dataclass(frozen=True, slots=True)
class EngineOptions:
    """What a mover adds to one engine: flags in order, and environment."""

    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict[str, str])


class Mover(Protocol):
    def programs(self, profile: Profile) -> tuple[Program, ...]:
        """Processes of its own (the shared store), started before the engines."""
        ...

    def engine_options(self, profile: Profile, role: str) -> EngineOptions: ...

    @property
    def gateway_mode(self) -> GatewayMode: ...


class Engine(Protocol):
    @property
    def lock(self) -> str:
        """Name of the lock its environment is built from (``engine-cpu``), or empty when dsctl itself suffices."""
        ...

    def program(self, profile: Profile, role: str, options: EngineOptions) -> Program: ...
