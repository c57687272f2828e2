"""Knows the shapes of the OpenAI API as vLLM writes them: requests in, answers and stream chunks out."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any, cast
from uuid import uuid4

from dsctl.simulator.tokens import chat_tokens, tokenize

FINGERPRINT = "simulated"
_DEFAULT_TOKENS = 16


class BadRequest(Exception):
    """``status`` 400 or 404, and what was wrong."""

    def __init__(self, message: str, status: int = 400) -> None:
        super().__init__(message)
        self.message, self.status = message, status


@dataclass(frozen=True, slots=True)
class Asked:
    """A completion as it was asked for. ``count``: tokens to make."""

    chat: bool
    model: str
    prompt: list[int]
    count: int
    stop: tuple[str, ...]
    stream: bool
    usage_in_stream: bool
    id: str
    created: int


def parse(body: Any, path: str, served: str, longest: int) -> Asked:
    """Raises BadRequest the way vLLM answers a wrong request."""
    if not isinstance(body, dict):
        raise BadRequest("the body is not a JSON object")
    fields = cast("dict[str, Any]", body)
    chat = path == "/v1/chat/completions"
    model = str(fields.get("model") or served)
    if model != served:
        raise BadRequest(f"The model `{model}` does not exist.", 404)
    prompt = prompt_of(fields, chat=chat)
    count = fields.get("max_completion_tokens") or fields.get("max_tokens") or _DEFAULT_TOKENS
    if not isinstance(count, int) or count < 1:
        raise BadRequest(f"max_tokens must be at least 1, got {count}.")
    if len(prompt) + count > longest:
        raise BadRequest(f"maximum context length is {longest} tokens; the request has {len(prompt)} + {count}")
    if fields.get("n", 1) != 1:
        raise BadRequest("the simulated engine answers n=1 only")
    stop: Any = fields.get("stop") or ()
    options: dict[str, Any] = fields.get("stream_options") or {}
    return Asked(
        chat=chat,
        model=model,
        prompt=prompt,
        count=count,
        stop=(stop,) if isinstance(stop, str) else tuple(stop),
        stream=bool(fields.get("stream")),
        usage_in_stream=bool(options.get("include_usage")),
        id=f"{'chatcmpl' if chat else 'cmpl'}-{uuid4().hex}",
        created=int(time.time()),
    )


def prompt_of(fields: dict[str, Any], *, chat: bool) -> list[int]:
    if chat:
        messages = fields.get("messages")
        if not isinstance(messages, list) or not messages:
            raise BadRequest("messages: at least one is required")
        return chat_tokens(cast("list[dict[str, str]]", messages))
    prompt: Any = fields.get("prompt")
    if isinstance(prompt, str):
        return tokenize(prompt) or [1]
    if isinstance(prompt, list) and prompt and all(isinstance(token, int) for token in cast("list[Any]", prompt)):
        return list(cast("list[int]", prompt))
    raise BadRequest("prompt: text or a list of token ids is required")


def usage(asked: Asked, made: int) -> dict[str, int]:
    prompt = len(asked.prompt)
    return {"prompt_tokens": prompt, "total_tokens": prompt + made, "completion_tokens": made}


def whole(asked: Asked, text: str, made: int, reason: str) -> dict[str, Any]:
    """The answer in one piece."""
    said = {"message": {"role": "assistant", "content": text}} if asked.chat else {"text": text}
    choice = {"index": 0, **said, "logprobs": None, "finish_reason": reason}
    kind = "chat.completion" if asked.chat else "text_completion"
    return {**_head(asked, kind), "choices": [choice], "usage": usage(asked, made)}


def opening(asked: Asked) -> dict[str, Any] | None:
    """A chat stream begins with the role and no text."""
    return _chunk(asked, {"role": "assistant", "content": ""}, None) if asked.chat else None


def piece(asked: Asked, text: str, reason: str | None) -> dict[str, Any]:
    return _chunk(asked, {"content": text}, reason) if asked.chat else _text_chunk(asked, text, reason)


def closing(asked: Asked, made: int) -> dict[str, Any]:
    """The usage chunk, which has no choices."""
    kind = "chat.completion.chunk" if asked.chat else "text_completion"
    return {**_head(asked, kind), "choices": [], "usage": usage(asked, made)}


def _chunk(asked: Asked, delta: dict[str, Any], reason: str | None) -> dict[str, Any]:
    choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": reason}
    return {**_head(asked, "chat.completion.chunk"), "choices": [choice]}


def _text_chunk(asked: Asked, text: str, reason: str | None) -> dict[str, Any]:
    choice = {"index": 0, "text": text, "logprobs": None, "finish_reason": reason}
    return {**_head(asked, "text_completion"), "choices": [choice]}


def _head(asked: Asked, kind: str) -> dict[str, Any]:
    return {
        "id": asked.id,
        "object": kind,
        "created": asked.created,
        "model": asked.model,
        "system_fingerprint": FINGERPRINT,
    }
