"""Knows a simulated engine's HTTP routes, those of vLLM that clients and the front door use."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import aclosing
from typing import Any, cast

import orjson

from dsctl.http1.server import Request, Response, error_body
from dsctl.simulator import openai
from dsctl.simulator.engine import SimEngine
from dsctl.simulator.openai import Asked, BadRequest
from dsctl.simulator.tokens import chat_tokens, tokenize

HEADERS = {"x-dsctl-simulated": "1"}
VERSION = "0.32.0+simulated"


class Api:
    def __init__(self, engine: SimEngine, model: str, longest: int) -> None:
        self._engine, self._model, self._longest = engine, model, longest
        self._routes: dict[tuple[str, str], Callable[[Request, Response], Awaitable[None]]] = {
            ("GET", "/health"): self._health,
            ("GET", "/version"): self._version,
            ("GET", "/v1/models"): self._models,
            ("GET", "/metrics"): self._metrics,
            ("POST", "/tokenize"): self._tokenize,
            ("POST", "/v1/chat/completions"): self._complete,
            ("POST", "/v1/completions"): self._complete,
        }

    async def handle(self, request: Request, response: Response) -> None:
        route = self._routes.get((request.method, request.path))
        try:
            await (route or _unknown)(request, response)
        except BadRequest as error:
            kind = "NotFoundError" if error.status == 404 else "BadRequestError"
            response.send(error.status, error_body(error.message, kind, error.status), headers=HEADERS)

    async def _health(self, _request: Request, response: Response) -> None:
        response.send(200, b"", headers=HEADERS)

    async def _version(self, _request: Request, response: Response) -> None:
        _send(response, {"version": VERSION})

    async def _models(self, _request: Request, response: Response) -> None:
        card = {"id": self._model, "object": "model", "owned_by": "dsctl-simulator", "max_model_len": self._longest}
        _send(response, {"object": "list", "data": [card]})

    async def _metrics(self, _request: Request, response: Response) -> None:
        text = self._engine.metrics.text(self._engine.gauges())
        response.send(200, text.encode(), "text/plain; version=0.0.4", HEADERS)

    async def _tokenize(self, request: Request, response: Response) -> None:
        body = _json(request)
        messages = body.get("messages")
        tokens = chat_tokens(messages) if messages else tokenize(str(body.get("prompt", "")))
        _send(response, {"count": len(tokens), "max_model_len": self._longest, "tokens": tokens})

    async def _complete(self, request: Request, response: Response) -> None:
        asked = openai.parse(_json(request), request.path, self._model, self._longest)
        if asked.stream:
            await self._stream(asked, response)
            return
        text, made, reason = "", 0, "length"
        async with aclosing(self._engine.generate(asked.prompt, asked.count)) as words:
            async for word in words:
                made += 1
                text, stopped = _until_stop(text + word, asked.stop)
                if stopped:
                    reason = "stop"
                    break
        self._engine.metrics.finished(reason)
        _send(response, openai.whole(asked, text, made, reason))

    async def _stream(self, asked: Asked, response: Response) -> None:
        response.start(200, {"content-type": "text/event-stream; charset=utf-8", **HEADERS})
        made, reason, text = 0, "length", ""
        async with aclosing(self._engine.generate(asked.prompt, asked.count)) as words:
            async for word in words:
                first = openai.opening(asked) if not made else None
                if first:
                    _event(response, first)
                made += 1
                before, (text, stopped) = text, _until_stop(text + word, asked.stop)
                ends = stopped or made == asked.count
                reason = "stop" if stopped else reason
                _event(response, openai.piece(asked, text[len(before) :], reason if ends else None))
                await response.drain()
                if ends:
                    break
        self._engine.metrics.finished(reason)
        if asked.usage_in_stream:
            _event(response, openai.closing(asked, made))
        response.write(b"data: [DONE]\n\n")
        response.end()


async def _unknown(_request: Request, _response: Response) -> None:
    raise BadRequest("Not Found", 404)


def _until_stop(text: str, stop: tuple[str, ...]) -> tuple[str, bool]:
    """The text up to the first stop string, and whether there was one."""
    cuts = [at for at in (text.find(word) for word in stop) if at >= 0]
    return (text[: min(cuts)], True) if cuts else (text, False)


def _json(request: Request) -> dict[str, Any]:
    try:
        body: Any = orjson.loads(request.body)
    except ValueError as error:
        raise BadRequest(f"the body is not JSON: {error}") from error
    if not isinstance(body, dict):
        raise BadRequest("the body is not a JSON object")
    return cast("dict[str, Any]", body)


def _send(response: Response, value: Any) -> None:
    response.send(200, orjson.dumps(value), headers=HEADERS)


def _event(response: Response, value: Any) -> None:
    response.write(b"data: " + orjson.dumps(value) + b"\n\n")
