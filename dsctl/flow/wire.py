"""Names to objects: the only place that chooses implementations."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from dsctl.core.paths import state_dir
from dsctl.engines.sim import Sim
from dsctl.engines.vllm import Vllm
from dsctl.host.local import LocalHost
from dsctl.ledger.store import Ledger
from dsctl.model.profile import EngineKind, MoverKind, Profile, ProviderKind
from dsctl.movers.lmcache_mp import LMCacheMP
from dsctl.movers.none import NoMover
from dsctl.movers.sim_store import SimStore
from dsctl.ports.plug import Engine, Mover
from dsctl.ports.provider import Provider
from dsctl.providers.local import LocalProvider

PROVIDERS: Mapping[ProviderKind, Callable[[], Provider]] = {"local": lambda: LocalProvider(LocalHost)}
MOVERS: Mapping[MoverKind, Callable[[], Mover]] = {"lmcache_mp": LMCacheMP, "sim_store": SimStore, "none": NoMover}
ENGINES: Mapping[EngineKind, Callable[[Profile], Engine]] = {
    "vllm": lambda profile: Vllm(profile.engine.device),
    "sim": lambda profile: Sim(),  # noqa: ARG005  one signature for all
}


def engine(profile: Profile) -> Engine:
    return ENGINES[profile.engine.kind](profile)


def mover(profile: Profile) -> Mover:
    return MOVERS[profile.kv.mover]()


def provider(kind: str) -> Provider:
    return next(make for name, make in PROVIDERS.items() if name == kind)()


def ledger() -> Ledger:
    return Ledger(state_dir() / "ledger.db")
