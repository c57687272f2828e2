"""Knows how a simulated engine spends time and tokens: one prefill at a time, decoding in steps, a prefix cache.

A prompt's tokens come from the engine's own cache (whole blocks), from the shared store (whole chunks), or are
computed; at least the last one is always computed, as in vLLM. Without the store it recomputes.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from typing import Protocol

from dsctl.simulator.cache import BlockCache
from dsctl.simulator.metrics import EngineMetrics
from dsctl.simulator.tokens import answer_words, block_hashes


@dataclass(frozen=True, slots=True)
class Speed:
    """``prefill``: prompt tokens computed per second; ``fetch``: retrieved per second; ``itl_s``: seconds a token."""

    prefill: float = 20000.0
    itl_s: float = 0.005
    fetch: float = 400000.0


class Store(Protocol):
    async def found(self, hashes: Sequence[str]) -> int:
        """How many chunks from the start the store has; 0 when it cannot be asked."""
        ...

    async def add(self, hashes: Sequence[str]) -> None: ...


class SimEngine:
    def __init__(
        self,
        model: str,
        store: Store | None,
        speed: Speed,
        *,
        block: int,
        chunk: int,
        blocks: int,
        slots: int,
        seed: int,
    ) -> None:
        self.metrics = EngineMetrics(model)
        self._store, self._speed, self._seed = store, speed, seed
        self._block, self._chunk = block, chunk
        self._cache = BlockCache(blocks)
        self._blocks = blocks
        self._prefilling = asyncio.Lock()
        self._slots = asyncio.Semaphore(slots)
        self.running = 0
        self.waiting = 0

    async def generate(self, prompt: Sequence[int], count: int) -> AsyncGenerator[str]:
        """``count`` words, each when it is due. Closing the generator frees what the request held."""
        loop = asyncio.get_running_loop()
        arrived = loop.time()
        self.waiting += 1
        try:
            await self._slots.acquire()
        finally:
            self.waiting -= 1
        self.running += 1
        try:
            await self._prefill(prompt)
            last = arrived
            for index, word in enumerate(answer_words(prompt, count, self._seed)):
                if index:
                    await asyncio.sleep(self._speed.itl_s)
                now = loop.time()
                name = "inter_token_latency_seconds" if index else "time_to_first_token_seconds"
                self.metrics.time(name, now - last)
                self.metrics.count("generation_tokens_total")
                last = now
                yield word
            self.metrics.time("e2e_request_latency_seconds", loop.time() - arrived)
        finally:
            self.running -= 1
            self._slots.release()

    async def _prefill(self, prompt: Sequence[int]) -> None:
        async with self._prefilling:
            local, external = await self._found(prompt)
            computed = len(prompt) - local - external
            await asyncio.sleep(computed / self._speed.prefill + external / self._speed.fetch)
            self._cache.add(block_hashes(prompt, self._block))
            if self._store is not None:
                await self._store.add(block_hashes(prompt, self._chunk))
            self.metrics.prompt(computed=computed, local=local, external=external)

    async def _found(self, prompt: Sequence[int]) -> tuple[int, int]:
        """Tokens found here, and beyond them in the store; never the whole prompt."""
        most = max(0, len(prompt) - 1)
        local = min(
            self._cache.found(block_hashes(prompt, self._block)) * self._block, most // self._block * self._block
        )
        if self._store is None:
            return local, 0
        chunks = await self._store.found(block_hashes(prompt, self._chunk))
        reach = min(chunks * self._chunk, most // self._chunk * self._chunk)
        return local, max(0, reach - local)

    def gauges(self) -> dict[str, float]:
        return {
            "num_requests_running": self.running,
            "num_requests_waiting": self.waiting,
            "kv_cache_usage_perc": len(self._cache) / self._blocks,
        }
