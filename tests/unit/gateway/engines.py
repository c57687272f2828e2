"""Engines for gateway tests: each does what its test says, on HTTP, and remembers what it was asked."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from dsctl.gateway.app import App
from dsctl.gateway.config import parse_config
from dsctl.http1.client import Pool
from dsctl.http1.server import Request, Response, Server, serve

Behaviour = Callable[["Engine", Request, Response], Awaitable[None]]


@dataclass
class Engine:
    name: str
    behaviour: Behaviour
    asked: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    aborted: int = 0
    server: Server | None = None

    @property
    def url(self) -> str:
        assert self.server
        return f"http://127.0.0.1:{self.server.port}"

    async def handle(self, request: Request, response: Response) -> None:
        if request.path == "/health":
            response.send(200, b"")
            return
        if request.body:
            self.asked.append(json.loads(request.body))
            self.headers.append(dict(request.headers))
        try:
            await self.behaviour(self, request, response)
        except asyncio.CancelledError:
            self.aborted += 1
            raise


async def answer(engine: Engine, request: Request, response: Response) -> None:
    """Three pieces of a stream, or one JSON body that names the engine."""
    body = json.loads(request.body or b"{}")
    if not body.get("stream"):
        response.send(200, json.dumps({"by": engine.name, "choices": []}).encode())
        return
    response.start(200, {"content-type": "text/event-stream"})
    for word in ("one", "two", "three"):
        response.write(b"data: " + json.dumps({"by": engine.name, "word": word}).encode() + b"\n\n")
        await asyncio.sleep(0.01)
    response.write(b"data: [DONE]\n\n")
    response.end()


async def hang(engine: Engine, request: Request, response: Response) -> None:
    await asyncio.sleep(60)


async def half_a_stream(engine: Engine, request: Request, response: Response) -> None:
    response.start(200, {"content-type": "text/event-stream"})
    response.write(b'data: {"word": "one"}\n\n')
    await asyncio.sleep(0.02)
    response.cut()


async def drop(engine: Engine, request: Request, response: Response) -> None:
    response.cut()


def status(code: int) -> Behaviour:
    async def say(engine: Engine, request: Request, response: Response) -> None:
        response.send(code, json.dumps({"error": {"message": f"from {engine.name}", "code": code}}).encode())

    return say


@dataclass
class Gateway:
    app: App
    server: Server
    pool: Pool

    async def post(
        self, body: Any, path: str = "/v1/chat/completions", **headers: str
    ) -> tuple[int, bytes, dict[str, str]]:
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        exchange = await self.pool.request("POST", f"http://127.0.0.1:{self.server.port}{path}", headers, data)
        return exchange.status, await exchange.read(), dict(exchange.headers)

    async def get(self, path: str) -> tuple[int, bytes]:
        exchange = await self.pool.request("GET", f"http://127.0.0.1:{self.server.port}{path}", {})
        return exchange.status, await exchange.read()


@asynccontextmanager
async def gateway(prefill: list[Engine], decode: list[Engine], **settings: Any) -> AsyncGenerator[Gateway]:
    """A gateway before running engines; an engine with ``behaviour`` None-like ``down`` is not started."""
    async with AsyncExitStack() as stack:
        for engine in (*prefill, *decode):
            engine.server = await serve(engine.handle, "127.0.0.1", 0)
            stack.push_async_callback(engine.server.close)
        document = {
            "schema": "dsctl.gateway/1",
            "model": "lab",
            "mode": "pd" if prefill else "replicas",
            "prefill": [{"name": e.name, "url": e.url} for e in prefill],
            "decode": [{"name": e.name, "url": e.url} for e in decode],
            **settings,
        }
        app = App(parse_config(document))
        await app.look()
        server = await serve(app.handle, "127.0.0.1", 0)
        pool = Pool()
        stack.push_async_callback(server.close)
        stack.callback(app.pool.close)
        stack.callback(pool.close)
        yield Gateway(app, server, pool)
    await asyncio.sleep(0.02)
