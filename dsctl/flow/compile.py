"""Profile to plan: pure. The same profile gives the same plan, byte for byte."""

from __future__ import annotations

from dsctl.core.digest import digest
from dsctl.flow import wire
from dsctl.model.plan import Plan
from dsctl.model.profile import Profile
from dsctl.model.program import Program
from dsctl.runbook.commands import shell_text
from dsctl.stages import bootstrap, frontdoor, launch, ready, teardown, weights
from dsctl.stages.guard import ENGINE_PYTHON


def compile_plan(profile: Profile) -> Plan:
    engine, mover = wire.engine(profile), wire.mover(profile)
    programs: tuple[Program, ...] = (
        *mover.programs(profile),
        *(engine.program(profile, role, mover.engine_options(profile, role)) for role in profile.topology.roles),
        frontdoor.program(profile),
    )
    prepared = (
        *bootstrap.scripts(),
        *bootstrap.environment(engine.lock, ENGINE_PYTHON if profile.engine.device == "cpu" else "3.12"),
        *weights.steps(profile),
    )
    started = launch.steps(
        programs,
        frontdoor.configuration(profile, mover.gateway_mode),
        environment=("bootstrap/box/engine-env",) if engine.lock else (),
        model=("weights/box/model",) if not profile.simulated else (),
    )
    return Plan(
        profile=profile.name,
        profile_digest=digest(profile.resolved()),
        simulated=profile.simulated,
        slots=_slots(profile, engine.lock),
        programs=programs,
        steps=(*prepared, *started, *ready.steps(profile), *teardown.steps(programs)),
    )


def _slots(profile: Profile, lock: str) -> dict[str, str]:
    """Values known before a box is: ports, and the digests that name folders on it."""
    slots = {f"{role}.port": str(port) for role, port in profile.engine_ports.items()}
    slots["gateway.port"] = str(profile.gateway.port)
    if profile.kv.mover != "none":
        slots |= {"lmcache.port": str(profile.kv.port), "lmcache.http_port": str(profile.kv.http_port)}
    if lock:
        slots["engine.digest"] = bootstrap.environment_digest(lock)
    if not profile.simulated:
        slots["model.digest"] = weights.model_digest(profile)
    return slots


def commands_text(plan: Plan) -> str:
    """Every command of a plan as shell text; what only a box knows stays a ``{slot}``."""
    return shell_text(plan.steps, plan.slots)
