"""Knows what it means to move no KV: plain replicas, nothing added."""

from __future__ import annotations

from dsctl.model.profile import Profile
from dsctl.model.program import Program
from dsctl.ports.plug import EngineOptions, GatewayMode


class NoMover:
    gateway_mode: GatewayMode = "replicas"

    def programs(self, profile: Profile) -> tuple[Program, ...]:  # noqa: ARG002  the seam's signature
        return ()

    def engine_options(self, profile: Profile, role: str) -> EngineOptions:  # noqa: ARG002  the seam's signature
        return EngineOptions()
