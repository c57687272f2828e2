"""Knows the engines behind the gateway: how loaded each is, whether it answers, and which one is next."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from dsctl.gateway.config import EngineAddress, Policy

_FIRST_COOL_OFF_S = 1.0
_LONGEST_COOL_OFF_S = 10.0
_LOOKS_MISSED = 2


@dataclass(slots=True)
class Engine:
    """``inflight``: requests it works on for this gateway. ``up``: what the last look said."""

    address: EngineAddress
    inflight: int = 0
    served: int = 0
    up: bool = False
    missed: int = 0
    failures: int = 0
    avoid_until: float = 0.0

    @property
    def name(self) -> str:
        return self.address.name

    @property
    def url(self) -> str:
        return self.address.url

    def failed(self, now: float) -> None:
        """A connection failed: leave it alone for a second, then two, then four, at most ten."""
        self.failures += 1
        self.avoid_until = now + min(_LONGEST_COOL_OFF_S, _FIRST_COOL_OFF_S * 2 ** (self.failures - 1))

    def answered(self) -> None:
        self.failures, self.avoid_until, self.missed, self.up = 0, 0.0, 0, True

    def silent(self) -> None:
        """It did not answer a look. Once may be a busy moment; twice it is down."""
        self.missed += 1
        self.up = self.up and self.missed < _LOOKS_MISSED

    def usable(self, now: float) -> bool:
        return self.up and now >= self.avoid_until


class Choice:
    """Picks engines of one role. ``now`` is the loop's clock, in seconds."""

    def __init__(self, addresses: Sequence[EngineAddress], policy: Policy, now: Callable[[], float]) -> None:
        self.engines = tuple(Engine(address) for address in addresses)
        self._policy = policy
        self._now = now
        self._turn = 0

    def order(self) -> list[Engine]:
        """All engines, the best first; those that do not answer last, for when nothing else is left."""
        self._turn += 1
        count = len(self.engines)
        turn = [self.engines[(self._turn + offset) % count] for offset in range(count)]
        now = self._now()
        if self._policy == "round-robin":
            return sorted(turn, key=lambda engine: not engine.usable(now))
        return sorted(turn, key=lambda engine: (not engine.usable(now), engine.inflight))

    def usable(self) -> list[Engine]:
        """Those that answer, the best first."""
        now = self._now()
        return [engine for engine in self.order() if engine.usable(now)]

    def any_up(self) -> bool:
        return any(engine.up for engine in self.engines)
