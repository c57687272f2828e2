"""Knows when requests are due in an open loop: a schedule that no answer can delay. Pure, repeatable from the seed."""

from __future__ import annotations

import random
from typing import Literal


def schedule(kind: Literal["poisson", "constant"], rate: float, length_s: float, seed: int) -> list[float]:
    """Due times in seconds from the start, ascending, all below ``length_s``; ``rate`` in requests per second."""
    if kind == "constant":
        return [index / rate for index in range(int(length_s * rate))]
    rng = random.Random(f"arrivals {seed} {rate}")  # noqa: S311  load, not cryptography
    due: list[float] = []
    at = rng.expovariate(rate)
    while at < length_s:
        due.append(at)
        at += rng.expovariate(rate)
    return due
