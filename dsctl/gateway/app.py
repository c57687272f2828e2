"""Knows the gateway's routes, and what each does with a request."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any
from uuid import uuid4

import orjson

from dsctl.gateway.config import GatewayConfig
from dsctl.gateway.engines import Choice, Engine
from dsctl.gateway.handoff import Prefilled, prefill
from dsctl.gateway.metrics import Labels, Metrics
from dsctl.gateway.relay import Relay, Told
from dsctl.http1.client import HttpError, Pool
from dsctl.http1.server import Request, Response, error_body

_FORWARDED = ("authorization", "accept", "traceparent", "tracestate", "user-agent")
_LOOK_S = 2.0
COMPLETIONS = ("/v1/chat/completions", "/v1/completions")


class App:
    """One gateway. ``handle`` is the HTTP server's handler; ``look`` asks every engine whether it is well."""

    def __init__(self, config: GatewayConfig) -> None:
        now = asyncio.get_running_loop().time
        self.config = config
        self.metrics = Metrics()
        self.pool = Pool(connect_timeout_s=config.connect_timeout_s)
        self.prefill = Choice(config.prefill, config.policy, now)
        self.decode = Choice(config.decode, config.policy, now)
        self._relay = Relay(config, self.pool, self.decode, self.metrics)
        self._routes: dict[tuple[str, str], Callable[[Request, Response], Awaitable[None]]] = {
            ("GET", "/health"): self._health,
            ("GET", "/metrics"): self._metrics,
            ("GET", "/v1/models"): self._models,
            **{("POST", path): self._complete for path in COMPLETIONS},
        }

    async def handle(self, request: Request, response: Response) -> None:
        route = self._routes.get((request.method, request.path))
        if route:
            await route(request, response)
            return
        allowed = ", ".join(method for method, path in self._routes if path == request.path)
        if allowed:
            body = error_body(f"{request.method} is not allowed on {request.path}", "invalid_request_error", 405)
            response.send(405, body, headers={"allow": allowed})
        else:
            response.send(404, error_body(f"there is no {request.path} here", "invalid_request_error", 404))

    async def look(self) -> None:
        """Ask all engines at once, so that a restart is noticed without costing a request."""
        await asyncio.gather(*(self._look_at(engine) for engine in (*self.prefill.engines, *self.decode.engines)))

    async def _look_at(self, engine: Engine) -> None:
        try:
            async with asyncio.timeout(_LOOK_S):
                exchange = await self.pool.request("GET", engine.url + "/health", {})
                await exchange.read()
        except (HttpError, TimeoutError):
            engine.silent()
            return
        if exchange.status == 200:
            engine.answered()
        else:
            engine.silent()

    async def _complete(self, request: Request, response: Response) -> None:
        started = asyncio.get_running_loop().time()
        request_id = request.headers.get("x-request-id") or f"req-{uuid4().hex}"
        extra = {"x-request-id": request_id}
        try:
            body = orjson.loads(request.body)
        except ValueError:
            body = None
        if not isinstance(body, dict):
            response.send(400, error_body("the body is not a JSON object", "invalid_request_error", 400), headers=extra)
            self._finished(request, request_id, Told(status=400), Prefilled(), started)
            return
        forwarded = {name: request.headers[name] for name in _FORWARDED if name in request.headers}
        headers = {"content-type": "application/json", **forwarded, **extra}
        try:
            told, prefilled = await self._route(request, response, body, headers, extra)
        except asyncio.CancelledError:
            self.metrics.count("client_aborts_total")
            self._log(request, request_id, Told(status=499), Prefilled(), started)
            raise
        self._finished(request, request_id, told, prefilled, started)

    async def _route(
        self, request: Request, response: Response, body: Any, headers: dict[str, str], extra: dict[str, str]
    ) -> tuple[Told, Prefilled]:
        prefilled = Prefilled()
        if self.config.mode == "pd":
            prefilled = await self._hand_off(request.path, headers, body)
            if prefilled.refused:
                status, content_type, answer = prefilled.refused
                response.send(status, answer, content_type, extra)
                return Told(status=status), prefilled
        told = await self._relay.answer(
            request.path, headers, request.body, stream=bool(body.get("stream")), response=response, extra=extra
        )
        return told, prefilled

    async def _hand_off(self, path: str, headers: dict[str, str], body: Any) -> Prefilled:
        loop = asyncio.get_running_loop()
        started = loop.time()
        prefilled = await prefill(self.prefill, self.pool, path, headers, body, self.config.prefill_timeout_s)
        self.metrics.time("prefill_seconds", loop.time() - started)
        if prefilled.engine:
            self.metrics.count("handoffs_total")
        elif prefilled.skipped:
            self.metrics.count("prefill_fallbacks_total", reason=prefilled.skipped)
        return prefilled

    def _finished(self, request: Request, request_id: str, told: Told, prefilled: Prefilled, started: float) -> None:
        now = asyncio.get_running_loop().time()
        self.metrics.count("requests_total", route=request.path, status=str(told.status))
        self.metrics.time("request_seconds", now - started)
        if told.first_byte_at and told.streamed:
            self.metrics.time("time_to_first_token_seconds", told.first_byte_at - started)
        self._log(request, request_id, told, prefilled, started)

    def _log(self, request: Request, request_id: str, told: Told, prefilled: Prefilled, started: float) -> None:
        """One JSON line a request; never a prompt."""
        now = asyncio.get_running_loop().time()
        line = {
            "at": round(time.time(), 3),
            "id": request_id,
            "path": request.path,
            "status": told.status,
            "prefill": prefilled.engine or prefilled.skipped,
            "decode": told.engine,
            "first_byte_ms": round((told.first_byte_at - started) * 1000, 1) if told.first_byte_at else None,
            "ms": round((now - started) * 1000, 1),
            "failure": told.failure,
        }
        with suppress(OSError):  # a full disk must not cost a client its answer
            sys.stdout.write(orjson.dumps(line).decode() + "\n")

    async def _health(self, _request: Request, response: Response) -> None:
        """200 while a decoder is up, for then answers come; ``degraded`` when anything is down."""
        engines = {engine.name: engine.up for engine in (*self.prefill.engines, *self.decode.engines)}
        status = "ok" if all(engines.values()) else "degraded" if self.decode.any_up() else "down"
        response.send(503 if status == "down" else 200, orjson.dumps({"status": status, "engines": engines}))

    async def _metrics(self, _request: Request, response: Response) -> None:
        roles = (("prefill", self.prefill.engines), ("decode", self.decode.engines))
        inflight: dict[Labels, float] = {}
        up: dict[Labels, float] = {}
        for role, engines in roles:
            for engine in engines:
                labels = (("engine", engine.name), ("role", role))
                inflight[labels], up[labels] = engine.inflight, float(engine.up)
        text = self.metrics.text({"engine_inflight": inflight, "engine_up": up})
        response.send(200, text.encode(), "text/plain; version=0.0.4")

    async def _models(self, request: Request, response: Response) -> None:
        """An engine's own answer; when none answers that is an error, not an empty list."""
        headers = {name: request.headers[name] for name in _FORWARDED if name in request.headers}
        for engine in self.decode.order():
            try:
                async with asyncio.timeout(self.config.first_token_timeout_s):
                    exchange = await self.pool.request("GET", engine.url + request.path, headers)
                    body = await exchange.read()
            except (HttpError, TimeoutError):
                continue
            response.send(exchange.status, body, exchange.headers.get("content-type", "application/json"))
            return
        response.send(502, error_body("no engine answered", "upstream_error", 502))
