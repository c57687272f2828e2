"""Knows one client's connection: its requests one after another, its limits, and how each fault is told.

Faults of a client are answered, not raised: 400 garbage, 408 slow, 413 body too large, 431 head too large; such an
answer waits for those to earlier requests on the same connection. An offer to upgrade (curl and Java offer HTTP/2 so)
is passed over, as RFC 9110 7.8 allows.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, Protocol, cast
from urllib.parse import unquote

import httptools

from dsctl.http1.message import Request, Response, error_body, refusal

log = logging.getLogger(__name__)

_PIPELINED = 16

Handler = Callable[[Request, Response], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Limits:
    """Sizes in bytes, times in seconds. ``linger_s``: how long a refused client may go on sending, unread."""

    body: int = 64 * 2**20
    head: int = 64 * 2**10
    read_s: float = 60.0
    keep_alive_s: float = 75.0
    linger_s: float = 2.0


class Owner(Protocol):
    """The server, as its connections see it."""

    @property
    def handler(self) -> Handler: ...
    @property
    def limits(self) -> Limits: ...
    @property
    def closing(self) -> bool: ...
    def opened(self, connection: Connection, /) -> None: ...
    def lost(self, connection: Connection, /) -> None: ...


@dataclass(slots=True)
class _Incoming:
    """A request while it is being read."""

    url: bytes = b""
    headers: dict[str, str] = field(default_factory=dict[str, str])
    body: list[bytes] = field(default_factory=list[bytes])
    size: int = 0
    in_body: bool = False


class Connection(asyncio.Protocol):
    def __init__(self, owner: Owner) -> None:
        self._owner = owner
        self._limits = owner.limits
        self._loop = asyncio.get_running_loop()
        self._parser: Any = httptools.HttpRequestParser(self)
        self._transport: asyncio.Transport | None = None
        self._incoming: _Incoming | None = None
        self._head_bytes = 0
        self._waiting: deque[tuple[Request, Response]] = deque()
        self._timer: asyncio.TimerHandle | None = None
        self._writable = asyncio.Event()
        self._writable.set()
        self._refusal = b""
        self.task: asyncio.Task[None] | None = None

    # what asyncio calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._owner.opened(self)
        self._set_timer(self._limits.keep_alive_s, self.close)

    def data_received(self, data: bytes) -> None:
        if self._refusal:
            return  # unread: closing while it arrives would reset the connection and lose the refusal
        self._head_bytes += len(data)
        try:
            self._parse(data)
        except httptools.HttpParserError as error:
            self._refuse(HTTPStatus.BAD_REQUEST, f"this is not HTTP: {error}")
        if self._head_bytes > self._limits.head:
            self._refuse(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, f"the head is over {self._limits.head} bytes")

    def _parse(self, data: bytes) -> None:
        while data and not self._refusal:
            try:
                self._parser.feed_data(data)
            except httptools.HttpParserUpgrade as offer:
                self._pass_over_offer()
                data = data[offer.args[0] :]
            else:
                return

    def _pass_over_offer(self) -> None:
        """The parser takes what follows an offer for another protocol: let it read the head again without the offer."""
        if self._incoming is None:
            return
        head = _without_offer(self._parser.get_method(), self._parser.get_http_version(), self._incoming)
        self._parser = httptools.HttpRequestParser(self)
        self._parser.feed_data(head)

    def eof_received(self) -> bool:
        return False

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002  asyncio's signature
        self._cancel_timer()
        self._waiting.clear()
        self._writable.set()
        if self.task:
            self.task.cancel()
        self._owner.lost(self)

    def pause_writing(self) -> None:
        self._writable.clear()

    def resume_writing(self) -> None:
        self._writable.set()

    # what httptools calls

    def on_message_begin(self) -> None:
        if self._refusal:
            return
        self._incoming = _Incoming()
        self._set_timer(self._limits.read_s, self._too_slow)

    def on_url(self, url: bytes) -> None:
        if self._incoming:
            self._incoming.url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        if self._incoming is None or self._incoming.in_body:
            return  # a trailer is no header: it must not speak for the client after its request was judged
        headers, key, text = self._incoming.headers, name.decode("latin-1").lower(), value.decode("latin-1")
        headers[key] = f"{headers[key]}, {text}" if key in headers else text

    def on_headers_complete(self) -> None:
        if self._incoming is None:
            return
        self._head_bytes = -self._limits.body * 2  # the body has its own limit; this one bounds what chunking adds
        self._incoming.in_body = True
        headers = self._incoming.headers
        size = len(self._incoming.url) + sum(len(name) + len(value) + 4 for name, value in headers.items())
        declared = headers.get("content-length", "0")
        if self._parser.get_method() == b"CONNECT":
            self._refuse(HTTPStatus.NOT_IMPLEMENTED, "this is not a proxy")
        elif self._parser.should_upgrade():
            return
        elif size > self._limits.head:
            self._refuse(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, f"the head is over {self._limits.head} bytes")
        elif declared.isdecimal() and int(declared) > self._limits.body:
            self._refuse(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"the body is over {self._limits.body} bytes")
        elif headers.get("expect", "").lower() == "100-continue" and not self.task:
            self.write(b"HTTP/1.1 100 Continue\r\n\r\n")

    def on_body(self, body: bytes) -> None:
        if self._incoming is None:
            return
        self._incoming.size += len(body)
        self._incoming.body.append(body)
        if self._incoming.size > self._limits.body:
            self._refuse(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"the body is over {self._limits.body} bytes")

    def on_message_complete(self) -> None:
        self._head_bytes = 0
        if self._incoming is None or self._parser.should_upgrade():
            return
        incoming, self._incoming = self._incoming, None
        self._cancel_timer()
        if len(self._waiting) >= _PIPELINED:
            self._refuse(HTTPStatus.BAD_REQUEST, "too many pipelined requests")
            return
        method = self._parser.get_method().decode("latin-1")
        response = Response(
            self,
            head_only=method == "HEAD",
            chunkable=self._parser.get_http_version() != "1.0",
            keep_alive=self._parser.should_keep_alive() and not self._owner.closing,
        )
        self._waiting.append((_request(method, incoming), response))
        self._next()

    # handling

    def _next(self) -> None:
        """Begin the next answer, or when there is none to give, wait for a request or say goodbye."""
        if self.task or self.gone:
            return
        if self._waiting:
            self.task = self._loop.create_task(self._handle(*self._waiting.popleft()))
        elif self._refusal:
            self._say_refusal()
        elif self._incoming is None:
            if self._owner.closing:
                self.close()
            else:
                self._set_timer(self._limits.keep_alive_s, self.close)

    async def _handle(self, request: Request, response: Response) -> None:
        try:
            await self._owner.handler(request, response)
            response.require_end()
        except asyncio.CancelledError:
            if not self.gone:
                response.cut()
            raise
        except Exception:
            log.exception("%s %s failed", request.method, request.path)
            if not response.started:
                response.send(500, error_body("the server failed on this request", "internal_error", 500))
            elif not response.ended:
                response.cut()
        finally:
            self.task = None
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
        """Close once everything written has been sent."""
        if self._transport:
            self._transport.close()

    def close_when_idle(self) -> None:
        if self.task is None and self._incoming is None and not self._refusal:
            self.close()

    def cut(self) -> None:
        if self._transport:
            self._transport.abort()

    def _too_slow(self) -> None:
        self._refuse(HTTPStatus.REQUEST_TIMEOUT, f"the request did not arrive within {self._limits.read_s:g} s")

    def _refuse(self, status: HTTPStatus, message: str) -> None:
        """Answer a request that cannot be handled, after those that can, and read nothing more."""
        if self._refusal:
            return
        self._refusal = refusal(status, message)
        self._incoming = None
        self._cancel_timer()
        self._next()

    def _say_refusal(self) -> None:
        self.write(self._refusal)
        if self._transport and self._transport.can_write_eof():
            self._transport.write_eof()
        self._set_timer(self._limits.linger_s, self.close)

    def _set_timer(self, seconds: float, call: Callable[[], None]) -> None:
        self._cancel_timer()
        self._timer = self._loop.call_later(seconds, call)

    def _cancel_timer(self) -> None:
        if self._timer:
            self._timer.cancel()
            self._timer = None


def _request(method: str, incoming: _Incoming) -> Request:
    target = incoming.url.decode("latin-1")
    if target.startswith(("http://", "https://")):  # the absolute form, as to a proxy
        target = "/" + target.partition("://")[2].partition("/")[2]
    path, _, query = target.partition("?")
    return Request(method, unquote(path), query, incoming.headers, b"".join(incoming.body))


def _without_offer(method: bytes, version: str, incoming: _Incoming) -> bytes:
    headers = dict(incoming.headers)
    headers.pop("upgrade", None)
    options = (option.strip() for option in headers.pop("connection", "").split(","))
    kept = ", ".join(option for option in options if option.lower() not in ("upgrade", "http2-settings"))
    if kept:
        headers["connection"] = kept
    lines = [f"{name}: {value}\r\n" for name, value in headers.items()]
    return b"%b %b HTTP/%b\r\n" % (method, incoming.url, version.encode()) + "".join([*lines, "\r\n"]).encode("latin-1")
