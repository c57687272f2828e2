"""Knows the prefill half of a hand-off: one token from a prefiller, so that its KV is in the store for the decoder."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from dsctl.gateway.engines import Choice, Engine
from dsctl.http1.client import ConnectFailed, HttpError, Pool

_ONE_TOKEN = {"max_tokens": 1, "stream": False, "n": 1}
_DROPPED = ("stream_options", "max_completion_tokens", "min_tokens", "best_of")


@dataclass(frozen=True, slots=True)
class Prefilled:
    """``engine`` did the work. ``skipped``: why nobody did, and the decoder must compute the prompt itself.

    ``refused``: the prefiller's own answer to a wrong request; it is the client's answer too.
    """

    engine: str = ""
    skipped: str = ""
    refused: tuple[int, str, bytes] | None = None


def prefill_body(body: Mapping[str, Any]) -> bytes:
    """The request as the prefiller gets it; unknown fields stay, they may mean something to the engine."""
    changed = {key: value for key, value in body.items() if key not in _DROPPED} | _ONE_TOKEN
    if "max_completion_tokens" in body and "max_tokens" not in body:
        changed = {key: value for key, value in changed.items() if key != "max_tokens"} | {"max_completion_tokens": 1}
    return orjson.dumps(changed)


async def prefill(
    choice: Choice, pool: Pool, path: str, headers: Mapping[str, str], body: Mapping[str, Any], timeout_s: float
) -> Prefilled:
    """Try prefillers that answer while they cannot even be reached; any other failure is left to the decoder."""
    data = prefill_body(body)
    now = asyncio.get_running_loop().time
    for engine in choice.usable():
        engine.inflight += 1
        try:
            async with asyncio.timeout(timeout_s):
                return await _ask(engine, pool, path, headers, data)
        except ConnectFailed:
            engine.failed(now())
        except TimeoutError:
            return Prefilled(skipped="timeout")
        except HttpError:
            engine.failed(now())
            return Prefilled(skipped="broken")
        finally:
            engine.inflight -= 1
    return Prefilled(skipped="unreachable")


async def _ask(engine: Engine, pool: Pool, path: str, headers: Mapping[str, str], data: bytes) -> Prefilled:
    exchange = await pool.request("POST", engine.url + path, headers, data)
    try:
        answer = await exchange.read()
    finally:
        exchange.abort()
    if exchange.status >= 500:
        return Prefilled(skipped=f"status_{exchange.status}")
    engine.answered()
    engine.served += 1
    if exchange.status >= 400:
        content_type = exchange.headers.get("content-type", "application/json")
        return Prefilled(refused=(exchange.status, content_type, answer))
    return Prefilled(engine=engine.name)
