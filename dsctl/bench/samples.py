"""Knows what an answer meant: server-sent events to token times, a sample a request."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

import orjson

from dsctl.bench.client import Shot


@dataclass(frozen=True, slots=True)
class Sample:
    """Times in seconds from the start of the step. ``tokens_at``: when each piece with text came, the first included.

    ``error`` is empty, or: connect, closed, timeout, cut_off, protocol, status_4xx, status_5xx, truncated (a stream
    without its end), sse_error (the server said in the stream that it failed), empty (no text at all).
    """

    due: float
    sent: float
    ended: float
    error: str
    tokens_at: tuple[float, ...] = ()
    prompt_tokens: int = 0
    output_tokens: int = 0

    @property
    def ok(self) -> bool:
        return not self.error

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def sample_of(shot: Shot, start: float) -> Sample:
    """Work out one request after its step."""
    sent = shot.sent - start if shot.sent else 0.0
    times = (shot.due - start, sent, shot.ended - start)
    if shot.failure:
        return Sample(*times, error=shot.failure)
    if shot.status != 200:
        return Sample(*times, error=f"status_{shot.status // 100}xx")
    tokens: list[float] = []
    usage: dict[str, int] = {}
    done = False
    for at, data in events(shot.pieces):
        if data == b"[DONE]":
            done = True
            continue
        try:
            chunk: Any = orjson.loads(data)
        except ValueError:
            return Sample(*times, error="protocol")
        if "error" in chunk:
            return Sample(*times, error="sse_error")
        usage = chunk.get("usage") or usage
        if any(_has_text(choice) for choice in chunk.get("choices", ())):
            tokens.append(at - start)
    error = "" if done and tokens else "truncated" if not done else "empty"
    return Sample(
        *times, error, tuple(tokens), usage.get("prompt_tokens", 0), usage.get("completion_tokens", len(tokens))
    )


def events(pieces: Iterable[tuple[float, bytes]]) -> Iterable[tuple[float, bytes]]:
    """The data of each server-sent event, with the time at which its last byte came; pieces may be cut anywhere."""
    rest = b""
    for at, piece in pieces:
        *whole, rest = (rest + piece).replace(b"\r\n", b"\n").split(b"\n\n")
        for block in whole:
            data = b"\n".join(_data(line) for line in block.split(b"\n") if line.startswith(b"data:"))
            if data:
                yield at, data


def _data(line: bytes) -> bytes:
    return line[5:].removeprefix(b" ")


def _has_text(choice: Any) -> bool:
    delta: Any = choice.get("delta") or choice
    return bool(delta.get("content") or delta.get("reasoning") or delta.get("tool_calls") or delta.get("text"))
