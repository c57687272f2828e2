"""Knows the simulated engine's command line."""

from __future__ import annotations

from dsctl.model.profile import Profile
from dsctl.model.program import Program
from dsctl.ports.plug import EngineOptions


class Sim:
    lock = ""

    def program(self, profile: Profile, role: str, options: EngineOptions) -> Program:
        port = profile.engine_ports[role]
        argv = (
            "{dsctl.python}", "-m", "dsctl.simulator", "engine",
            "--port", f"{{{role}.port}}", "--model", profile.served_name,
            "--role", role.rstrip("0123456789").replace("engine", "mono"),
            "--chunk", str(profile.kv.chunk_tokens), "--max-model-len", str(profile.engine.max_model_len),
            *options.args, *_flags(profile),
        )  # fmt: skip
        health = f"http://127.0.0.1:{{{role}.port}}/health"
        return Program(role, "engine", argv, (port,), health, env=dict(options.env), boot_s=profile.engine.boot_timeout)


def _flags(profile: Profile) -> tuple[str, ...]:
    return tuple(part for name, value in profile.engine.args.items() for part in (f"--{name}", str(value)))
