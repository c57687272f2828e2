"""Knows how to serve HTTP/1.1 on asyncio.Protocol: parsed by httptools, one handler task a request, streamed answers.

Faults of a client are answered, not raised: 400 garbage, 408 slow, 413 body too large, 431 head too large. A handler
that fails before its answer began gives 500; after that the connection is cut, so that the client sees the truncation.
A client that goes away cancels its handler at once.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, cast
from urllib.parse import unquote

import httptools

log = logging.getLogger(__name__)

READ_S = 60.0
KEEP_ALIVE_S = 75.0
_PIPELINED = 16


@dataclass(frozen=True, slots=True)
class Request:
    """``headers``: names in lower case. ``path``: decoded, without the query."""

    method: str
    path: str
    query: str
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True, slots=True)
class Limits:
    """Sizes in bytes, times in seconds."""

    body: int = 64 * 2**20
    head: int = 64 * 2**10
    read_s: float = READ_S
    keep_alive_s: float = KEEP_ALIVE_S


class Response:
    """One answer: ``send`` it whole, or ``start``, ``write`` and ``end`` it piece by piece."""

    def __init__(self, connection: _Connection, *, head_only: bool, chunkable: bool, keep_alive: bool) -> None:
        self._connection = connection
        self._head_only = head_only
        self._chunkable = chunkable
        self._keep_alive = keep_alive
        self._chunked = False
        self.started = False
        self.ended = False

    def start(self, status: int, headers: Mapping[str, str] | None = None, *, length: int | None = None) -> None:
        """Write the head; without ``length`` the body is chunked (or, for HTTP/1.0, ends with the connection)."""
        self.started = True
        self._chunked = length is None and self._chunkable
        if length is None and not self._chunkable:
            self._keep_alive = False
        lines = [f"HTTP/1.1 {status} {_phrase(status)}"]
        lines += [f"{name}: {value}" for name, value in (headers or {}).items()]
        if length is not None:
            lines.append(f"content-length: {length}")
        elif self._chunked:
            lines.append("transfer-encoding: chunked")
        if not self._keep_alive:
            lines.append("connection: close")
        self._connection.write(("\r\n".join(lines) + "\r\n\r\n").encode("latin-1"))

    def write(self, data: bytes) -> None:
        if not data or self._head_only:
            return
        self._connection.write(b"%x\r\n%b\r\n" % (len(data), data) if self._chunked else data)

    async def drain(self) -> None:
        """Wait while the client reads too slowly to take more."""
        await self._connection.drain()

    def end(self) -> None:
        if self._chunked and not self._head_only:
            self._connection.write(b"0\r\n\r\n")
        self.ended = True
        if not self._keep_alive:
            self._connection.close()

    def require_end(self) -> None:
        """Raises RuntimeError: an answer without an end would leave the client waiting."""
        if not self.ended:
            raise RuntimeError("the handler did not finish its answer")

    def cut(self) -> None:
        """Break the connection: the client must not take what it has for the whole."""
        self.ended = True
        self._connection.cut()

    def send(
        self, status: int, body: bytes, content_type: str = "application/json", headers: Mapping[str, str] | None = None
    ) -> None:
        self.start(status, {"content-type": content_type, **(headers or {})}, length=len(body))
        self.write(body)
        self.end()


Handler = Callable[[Request, Response], Awaitable[None]]


def error_body(message: str, kind: str, code: int) -> bytes:
    """An error the way OpenAI's API writes one."""
    return json.dumps({"error": {"message": message, "type": kind, "param": None, "code": code}}).encode()


@dataclass(slots=True)
class _Incoming:
    """A request while it is being read."""

    url: bytes = b""
    headers: dict[str, str] = field(default_factory=dict[str, str])
    body: list[bytes] = field(default_factory=list[bytes])
    size: int = 0


class _Connection(asyncio.Protocol):
    def __init__(self, server: Server) -> None:
        self._server = server
        self._limits = server.limits
        self._loop = asyncio.get_running_loop()
        self._parser: Any = httptools.HttpRequestParser(self)
        self._transport: asyncio.Transport | None = None
        self._incoming = _Incoming()
        self._head_bytes = 0
        self._waiting: deque[tuple[Request, Response]] = deque()
        self._task: asyncio.Task[None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._writable = asyncio.Event()
        self._writable.set()
        self._refused = False

    @property
    def busy(self) -> bool:
        return self._task is not None

    # what asyncio calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._server.connections.add(self)
        self._set_timer(self._limits.keep_alive_s, self.close)

    def data_received(self, data: bytes) -> None:
        if self._refused:
            return
        self._head_bytes += len(data)
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            self._refuse(HTTPStatus.NOT_IMPLEMENTED, "upgrades are not served here")
        except httptools.HttpParserError as error:
            self._refuse(HTTPStatus.BAD_REQUEST, f"this is not HTTP: {error}")
        if self._head_bytes > self._limits.head and not self._refused:
            self._refuse(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, f"the head is over {self._limits.head} bytes")

    def eof_received(self) -> bool:
        return False

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002  asyncio's signature
        self._server.connections.discard(self)
        self._cancel_timer()
        self._waiting.clear()
        self._writable.set()
        if self._task:
            self._task.cancel()

    def pause_writing(self) -> None:
        self._writable.clear()

    def resume_writing(self) -> None:
        self._writable.set()

    # what httptools calls

    def on_message_begin(self) -> None:
        self._incoming = _Incoming()
        self._set_timer(self._limits.read_s, self._too_slow)

    def on_url(self, url: bytes) -> None:
        self._incoming.url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        self._incoming.headers[name.decode("latin-1").lower()] = value.decode("latin-1")

    def on_headers_complete(self) -> None:
        self._head_bytes = -self._limits.body * 2  # the body has its own limit
        headers = self._incoming.headers
        size = len(self._incoming.url) + sum(len(name) + len(value) + 4 for name, value in headers.items())
        if size > self._limits.head:
            self._refuse(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, f"the head is over {self._limits.head} bytes")
            return
        declared = headers.get("content-length", "0")
        if declared.isdigit() and int(declared) > self._limits.body:
            self._refuse(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"the body is over {self._limits.body} bytes")
        elif headers.get("expect", "").lower() == "100-continue" and not self._task:
            self.write(b"HTTP/1.1 100 Continue\r\n\r\n")

    def on_body(self, body: bytes) -> None:
        self._incoming.size += len(body)
        if self._incoming.size > self._limits.body:
            self._refuse(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"the body is over {self._limits.body} bytes")
        elif not self._refused:
            self._incoming.body.append(body)

    def on_message_complete(self) -> None:
        self._head_bytes = 0
        if self._refused:
            return
        self._cancel_timer()
        method = self._parser.get_method().decode("latin-1")
        version = self._parser.get_http_version()
        response = Response(
            self,
            head_only=method == "HEAD",
            chunkable=version != "1.0",
            keep_alive=self._parser.should_keep_alive() and not self._server.closing,
        )
        request = _request(method, self._incoming)
        if len(self._waiting) >= _PIPELINED:
            self._refuse(HTTPStatus.BAD_REQUEST, "too many pipelined requests")
            return
        self._waiting.append((request, response))
        self._next()

    # handling

    def _next(self) -> None:
        if self._task is None and self._waiting:
            self._task = self._loop.create_task(self._handle(*self._waiting.popleft()))

    async def _handle(self, request: Request, response: Response) -> None:
        try:
            await self._server.handler(request, response)
            response.require_end()
        except asyncio.CancelledError:
            if not self.gone:
                response.cut()
            raise
        except Exception:
            log.exception("%s %s failed", request.method, request.path)
            if response.started:
                response.cut()
            else:
                response.send(500, error_body("the server failed on this request", "internal_error", 500))
        finally:
            self._task = None
        if not self.gone:
            self._set_timer(self._limits.keep_alive_s, self.close)
            self._next()

    # what Response and Server call

    @property
    def gone(self) -> bool:
        return self._transport is None or self._transport.is_closing()

    def write(self, data: bytes) -> None:
        if self._transport and not self._transport.is_closing():
            self._transport.write(data)

    async def drain(self) -> None:
        if not self._writable.is_set():
            await self._writable.wait()

    def close(self) -> None:
        if self._transport:
            self._transport.close()

    def cut(self) -> None:
        if self._transport:
            self._transport.abort()

    def _too_slow(self) -> None:
        self._refuse(HTTPStatus.REQUEST_TIMEOUT, f"the request did not arrive within {self._limits.read_s:g} s")

    def _refuse(self, status: HTTPStatus, message: str) -> None:
        """Answer a request that cannot be handled, unless an earlier one is still being answered, and close."""
        if self._refused:
            return
        self._refused = True
        self._cancel_timer()
        if not self.busy:
            body = error_body(message, "invalid_request_error", status)
            head = f"HTTP/1.1 {status.value} {status.phrase}\r\ncontent-type: application/json\r\n"
            self.write(f"{head}content-length: {len(body)}\r\nconnection: close\r\n\r\n".encode() + body)
        self.close()

    def _set_timer(self, seconds: float, call: Callable[[], None]) -> None:
        self._cancel_timer()
        self._timer = self._loop.call_later(seconds, call)

    def _cancel_timer(self) -> None:
        if self._timer:
            self._timer.cancel()
            self._timer = None


class Server:
    """``port`` is the real one, also when 0 was asked for."""

    def __init__(self, handler: Handler, limits: Limits) -> None:
        self.handler = handler
        self.limits = limits
        self.connections: set[_Connection] = set()
        self.closing = False
        self.port = 0
        self._listener: asyncio.Server | None = None

    async def listen(self, host: str, port: int, *, reuse_port: bool) -> None:
        loop = asyncio.get_running_loop()
        self._listener = await loop.create_server(
            lambda: _Connection(self), host, port, reuse_port=reuse_port or None, backlog=1024
        )
        self.port = self._listener.sockets[0].getsockname()[1]

    async def close(self, grace_s: float = 0.0) -> None:
        """Stop accepting, give answers in flight ``grace_s`` to finish, then cut what is left."""
        self.closing = True
        if self._listener:
            self._listener.close()
        deadline = asyncio.get_running_loop().time() + grace_s
        for connection in list(self.connections):
            if not connection.busy:
                connection.close()
        while any(c.busy for c in self.connections) and asyncio.get_running_loop().time() < deadline:  # noqa: ASYNC110
            await asyncio.sleep(0.02)
        for connection in list(self.connections):
            connection.cut()
        await asyncio.sleep(0)


async def serve(
    handler: Handler, host: str, port: int, *, reuse_port: bool = False, limits: Limits | None = None
) -> Server:
    """Listen and hand every request to ``handler``. Raises OSError when the port cannot be bound."""
    server = Server(handler, limits or Limits())
    await server.listen(host, port, reuse_port=reuse_port)
    return server


def _request(method: str, incoming: _Incoming) -> Request:
    path, _, query = incoming.url.decode("latin-1").partition("?")
    return Request(method, unquote(path), query, incoming.headers, b"".join(incoming.body))


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "Unknown"
