"""Knows what a handler sees: a request that is wholly here, and an answer it sends whole or piece by piece."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Request:
    """``headers``: names in lower case, repeated ones joined by commas. ``path``: decoded, without the query."""

    method: str
    path: str
    query: str
    headers: Mapping[str, str]
    body: bytes


class Wire(Protocol):
    """What an answer is written to."""

    def write(self, data: bytes) -> None: ...
    async def drain(self) -> None: ...
    def close(self) -> None: ...
    def cut(self) -> None: ...


class Response:
    """One answer: ``send`` it whole, or ``start``, ``write`` and ``end`` it piece by piece."""

    def __init__(self, wire: Wire, *, head_only: bool, chunkable: bool, keep_alive: bool) -> None:
        self._wire = wire
        self._bodyless = head_only
        self._chunkable = chunkable
        self._keep_alive = keep_alive
        self._chunked = False
        self.started = False
        self.ended = False

    def start(self, status: int, headers: Mapping[str, str] | None = None, *, length: int | None = None) -> None:
        """Write the head; without ``length`` the body is chunked (or, for HTTP/1.0, ends with the connection)."""
        self.started = True
        lines = [f"HTTP/1.1 {status} {_phrase(status)}"]
        lines += [f"{name}: {value}" for name, value in (headers or {}).items()]
        lines += self._framing(status, length)
        if not self._keep_alive:
            lines.append("connection: close")
        self._wire.write(("\r\n".join(lines) + "\r\n\r\n").encode("latin-1"))

    def _framing(self, status: int, length: int | None) -> list[str]:
        """How the client will know the body's end."""
        if status in (HTTPStatus.NO_CONTENT, HTTPStatus.NOT_MODIFIED):
            self._bodyless = True
            return []
        if length is not None:
            return [f"content-length: {length}"]
        if self._chunkable:
            self._chunked = True
            return ["transfer-encoding: chunked"]
        self._keep_alive = False
        return []

    def write(self, data: bytes) -> None:
        if not data or self._bodyless:
            return
        self._wire.write(b"%x\r\n%b\r\n" % (len(data), data) if self._chunked else data)

    async def drain(self) -> None:
        """Wait while the client reads too slowly to take more."""
        await self._wire.drain()

    def end(self) -> None:
        if self._chunked and not self._bodyless:
            self._wire.write(b"0\r\n\r\n")
        self.ended = True
        if not self._keep_alive:
            self._wire.close()

    def require_end(self) -> None:
        """Raises RuntimeError: an answer without an end would leave the client waiting."""
        if not self.ended:
            raise RuntimeError("the handler did not finish its answer")

    def cut(self) -> None:
        """Break the connection: the client must not take what it has for the whole."""
        self.ended = True
        self._wire.cut()

    def send(
        self, status: int, body: bytes, content_type: str = "application/json", headers: Mapping[str, str] | None = None
    ) -> None:
        self.start(status, {"content-type": content_type, **(headers or {})}, length=len(body))
        self.write(body)
        self.end()


def error_body(message: str, kind: str, code: int) -> bytes:
    """An error the way OpenAI's API writes one."""
    return json.dumps({"error": {"message": message, "type": kind, "param": None, "code": code}}).encode()


def refusal(status: HTTPStatus, message: str) -> bytes:
    """A whole answer, head and body, to a request that no handler will see."""
    body = error_body(message, "invalid_request_error", status)
    head = f"HTTP/1.1 {status.value} {status.phrase}\r\ncontent-type: application/json\r\n"
    return f"{head}content-length: {len(body)}\r\nconnection: close\r\n\r\n".encode() + body


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "Unknown"
