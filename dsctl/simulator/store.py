"""Knows the simulated shared store: its server, which stands where LMCache's stands, and the engines' way to it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import orjson

from dsctl.http1.client import HttpError, Pool
from dsctl.http1.server import Request, Response, error_body
from dsctl.simulator.cache import BlockCache

_ASK_S = 1.0
_LABELS = 'cache_salt="",model_name="simulated"'


class StoreApi:
    """``chunk``: tokens of one chunk, for the counters. Routes under ``/sim`` are the simulation's own."""

    def __init__(self, chunk: int, capacity: int) -> None:
        self._chunks = BlockCache(max(1, capacity // chunk))
        self._chunk = chunk
        self._asked = 0
        self._hit = 0
        self._written = 0

    async def handle(self, request: Request, response: Response) -> None:
        match (request.method, request.path):
            case ("GET", "/healthcheck"):
                response.send(200, b'{"status":"healthy","simulated":true}')
            case ("GET", "/metrics"):
                response.send(200, self._text().encode(), "text/plain; version=0.0.4")
            case ("POST", "/sim/lookup"):
                hashes = orjson.loads(request.body)
                found = self._chunks.found(hashes)
                self._asked += len(hashes) * self._chunk
                self._hit += found * self._chunk
                response.send(200, orjson.dumps({"found": found}))
            case ("POST", "/sim/store"):
                hashes = orjson.loads(request.body)
                self._chunks.add(hashes)
                self._written += len(hashes)
                response.send(200, b"{}")
            case _:
                response.send(404, error_body("Not Found", "NotFoundError", 404))

    def _text(self) -> str:
        return (
            f"lmcache_mp_lookup_requested_tokens_total{{{_LABELS}}} {self._asked}\n"
            f"lmcache_mp_lookup_hit_tokens_total{{{_LABELS}}} {self._hit}\n"
            f"lmcache_mp_l1_write_chunks_total {self._written}\n"
            f"lmcache_mp_l1_memory_usage_bytes {len(self._chunks) * self._chunk}\n"
        )


class RemoteStore:
    """A store that cannot be asked within a second is as good as empty: the engine recomputes."""

    def __init__(self, url: str) -> None:
        self._url = url.rstrip("/")
        self._pool = Pool(connect_timeout_s=_ASK_S)

    async def found(self, hashes: Sequence[str]) -> int:
        answer = await self._ask("/sim/lookup", hashes)
        return int(orjson.loads(answer)["found"]) if answer else 0

    async def add(self, hashes: Sequence[str]) -> None:
        await self._ask("/sim/store", hashes)

    async def _ask(self, path: str, hashes: Sequence[str]) -> bytes:
        try:
            async with asyncio.timeout(_ASK_S):
                exchange = await self._pool.request("POST", self._url + path, {}, orjson.dumps(list(hashes)))
                return await exchange.read() if exchange.status == 200 else b""
        except (HttpError, TimeoutError):
            return b""
