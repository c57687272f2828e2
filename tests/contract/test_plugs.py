"""What every mover and engine must hold, whichever it is."""

from __future__ import annotations

import pytest

from dsctl.flow import wire
from dsctl.model.profile import MoverKind, Profile
from dsctl.model.step import slots_in
from tests.profiles import shipped

CASES: dict[MoverKind, Profile] = {
    "lmcache_mp": shipped("local-1p2d"),
    "sim_store": shipped("local-sim"),
    "none": shipped("local-mono"),
}


def test_every_mover_has_a_case() -> None:
    assert set(CASES) == set(wire.MOVERS)


@pytest.mark.parametrize("kind", CASES)
def test_a_mover_declares_ports_health_and_options_for_every_role(kind: MoverKind) -> None:
    profile = CASES[kind]
    mover = wire.mover(profile)
    for program in mover.programs(profile):
        assert program.kind == "store"
        assert set(program.ports) <= set(profile.ports.values())
        assert program.health.startswith("http://127.0.0.1:")
        assert all(
            slot.split(".")[0] in ("engine", "dsctl", "lmcache", "run") for w in program.argv for slot in slots_in(w)
        )
    for role in profile.topology.roles:
        options = mover.engine_options(profile, role)
        assert all(isinstance(word, str) and word for word in options.args)
    assert mover.gateway_mode == ("pd" if profile.topology.disaggregated else "replicas")


@pytest.mark.parametrize("kind", CASES)
def test_an_engine_listens_on_loopback_on_its_own_port(kind: MoverKind) -> None:
    profile = CASES[kind]
    engine, mover = wire.engine(profile), wire.mover(profile)
    for role in profile.topology.roles:
        program = engine.program(profile, role, mover.engine_options(profile, role))
        assert program.role == role
        assert program.ports == (profile.engine_ports[role],)
        assert f"{{{role}.port}}" in program.argv
        assert "0.0.0.0" not in " ".join(program.argv)
        assert program.health == f"http://127.0.0.1:{{{role}.port}}/health"
