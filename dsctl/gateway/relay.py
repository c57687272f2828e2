"""Knows the decode half: the client's own request to a decoder, and its answer back byte for byte as it comes.

Before the first byte another decoder may still answer; after it the client is told, by an error event in a stream or by
a cut connection, and never left with half an answer that looks whole.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass, field

import orjson

from dsctl.gateway.config import GatewayConfig
from dsctl.gateway.engines import Choice, Engine
from dsctl.gateway.metrics import Metrics
from dsctl.http1.client import ConnectFailed, Exchange, HttpError, Pool
from dsctl.http1.server import Response, error_body

_TRIES = 2
_PASSED = ("content-type", "cache-control", "retry-after", "x-dsctl-simulated")


@dataclass(slots=True)
class Told:
    """What happened to one answer, for the log and the metrics."""

    status: int = 0
    engine: str = ""
    first_byte_at: float = 0.0
    streamed: bool = False
    failure: str = ""


@dataclass(slots=True)
class Relay:
    config: GatewayConfig
    pool: Pool
    choice: Choice
    metrics: Metrics

    async def answer(
        self,
        path: str,
        headers: Mapping[str, str],
        body: bytes,
        *,
        stream: bool,
        response: Response,
        extra: Mapping[str, str],
    ) -> Told:
        """Answer from the best decoder, or the next best when that fails before its first byte."""
        told = Told(streamed=stream)
        tries, engines = 0, self.choice.order()
        for number, engine in enumerate(engines, 1):
            attempt = _Attempt(self, engine, stream=stream, response=response, extra=extra, told=told)
            last = number == len(engines) or tries + 1 == _TRIES
            if await attempt.run(path, headers, body, last=last):
                return told
            tries += told.failure != "unreachable"  # that one has cost next to nothing
            if tries == _TRIES:
                break
            self.metrics.count("decode_retries_total", reason=told.failure)
        status = 504 if told.failure == "timeout" else 502
        message = f"no engine answered this request ({told.failure})"
        response.send(status, error_body(message, "upstream_error", status), headers=extra)
        told.status = status
        return told


@dataclass(slots=True)
class _Attempt:
    relay: Relay
    engine: Engine
    stream: bool
    response: Response
    extra: Mapping[str, str]
    told: Told
    exchange: Exchange | None = field(default=None)

    async def run(self, path: str, headers: Mapping[str, str], body: bytes, *, last: bool) -> bool:
        """True when the client has its answer, whole or broken; False when another engine may still be tried."""
        now = asyncio.get_running_loop().time
        self.told.engine = self.engine.name
        self.engine.inflight += 1
        try:
            async with asyncio.timeout(self._patience()):
                exchange = await self.relay.pool.request("POST", self.engine.url + path, headers, body)
                self.exchange = exchange
                pieces = exchange.body()
                first = await anext(pieces, b"")
            if exchange.status >= 500 and not last:
                self.told.failure = f"status_{exchange.status}"
                return False
            self.engine.answered()
            self.engine.served += 1
            await self._pass_on(exchange, first, pieces)
        except ConnectFailed:
            self.engine.failed(now())
            self.told.failure = "unreachable"
        except TimeoutError:
            self.told.failure = "timeout"
        except HttpError:
            self.engine.failed(now())
            self.told.failure = "broken"
        finally:
            self.engine.inflight -= 1
            if self.exchange is not None:
                self.exchange.abort()
        return self.response.started

    def _patience(self) -> float:
        config = self.relay.config
        return config.first_token_timeout_s if self.stream else config.answer_timeout_s

    async def _pass_on(self, exchange: Exchange, first: bytes, pieces: AsyncGenerator[bytes]) -> None:
        loop, response = asyncio.get_running_loop(), self.response
        self.told.status, self.told.first_byte_at = exchange.status, loop.time()
        kept = {name: exchange.headers[name] for name in _PASSED if name in exchange.headers}
        length = exchange.headers.get("content-length", "")
        response.start(exchange.status, {**kept, **self.extra}, length=int(length) if length.isdigit() else None)
        response.write(first)
        try:
            while True:
                async with asyncio.timeout(self.relay.config.idle_timeout_s):
                    await response.drain()
                    piece = await anext(pieces, b"")
                if not piece:
                    break
                response.write(piece)
        except (HttpError, TimeoutError) as error:
            self._broke("timeout" if isinstance(error, TimeoutError) else "broken")
            return
        response.end()

    def _broke(self, reason: str) -> None:
        """Say in the stream that it ends early; where that is impossible, let the connection say it."""
        self.told.failure = reason
        self.relay.metrics.count("stream_failures_total", reason=reason)
        if self.stream:
            message = f"the engine's answer ended early ({reason})"
            event = orjson.dumps({"error": {"message": message, "type": "upstream_error", "param": None, "code": 502}})
            self.response.write(b"\n\ndata: " + event + b"\n\n")  # the engine may have stopped within an event
            self.response.end()
        else:
            self.response.cut()
