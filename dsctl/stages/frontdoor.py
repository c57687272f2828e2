"""Knows how the front door is started and configured from a profile."""

from __future__ import annotations

import json

from dsctl.model.profile import Profile
from dsctl.model.program import Program
from dsctl.ports.plug import GatewayMode

BOOT_S = 30.0


def program(profile: Profile) -> Program:
    return Program(
        role="gateway",
        kind="gateway",
        argv=("{dsctl.python}", "-m", "dsctl.gateway", "{run.dir}/gateway.json"),
        ports=(profile.gateway.port,),
        health="http://127.0.0.1:{gateway.port}/health",
        boot_s=BOOT_S,
        stop_s=20,
    )


def configuration(profile: Profile, mode: GatewayMode) -> str:
    """The file the gateway reads, one key a line."""
    gateway = profile.gateway
    mover = "none" if mode == "replicas" else "lmcache_mp"
    urls = [{"name": role, "url": f"http://127.0.0.1:{port}"} for role, port in profile.engine_ports.items()]
    document = {
        "schema": "dsctl.gateway/1",
        "host": gateway.host,
        "port": gateway.port,
        "model": profile.served_name,
        "mode": mode,
        "policy": gateway.policy,
        "mover": mover,
        "prefill": [engine for engine in urls if engine["name"].startswith("prefill")],
        "decode": [engine for engine in urls if not engine["name"].startswith("prefill")],
        "prefill_timeout_s": gateway.prefill_timeout,
        "first_token_timeout_s": gateway.first_token_timeout,
        "idle_timeout_s": gateway.idle_timeout,
    }
    return json.dumps(document, indent=2) + "\n"
