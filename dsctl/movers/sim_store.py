"""Knows the simulated shared store: stands where the LMCache server stands, for simulated engines only."""

from __future__ import annotations

from dsctl.model.profile import Profile
from dsctl.model.program import Program
from dsctl.ports.plug import EngineOptions, GatewayMode


class SimStore:
    gateway_mode: GatewayMode = "pd"

    def programs(self, profile: Profile) -> tuple[Program, ...]:
        kv = profile.kv
        argv = (
            "{dsctl.python}", "-m", "dsctl.simulator", "store",
            "--port", "{lmcache.port}", "--http-port", "{lmcache.http_port}", "--chunk", str(kv.chunk_tokens),
        )  # fmt: skip
        health = "http://127.0.0.1:{lmcache.http_port}/healthcheck"
        return (Program("lmcache", "store", argv, (kv.port, kv.http_port), health, boot_s=profile.engine.boot_timeout),)

    def engine_options(self, profile: Profile, role: str) -> EngineOptions:  # noqa: ARG002  same for both roles
        return EngineOptions(args=("--store", "http://127.0.0.1:{lmcache.http_port}"))
