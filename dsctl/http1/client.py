"""Knows how to ask over HTTP/1.1 on asyncio.Protocol: kept-alive connections without a cap, bodies as they come.

A kept connection may be closed by the server just as a request goes out on it; such a request goes out again on a new
connection, because no byte of an answer had come. Reading pauses when the taker is slow.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Mapping
from typing import Any, cast
from urllib.parse import urlsplit

import httptools

_BUFFERED = 256 * 2**10


class HttpError(Exception):
    """An exchange that failed; the subclasses say how far it came."""


class ConnectFailed(HttpError):
    """No connection: refused, unreachable or too slow."""


class PeerClosed(HttpError):
    """The connection ended before the answer was whole."""


class ProtocolFault(HttpError):
    """What came is not HTTP."""


class Exchange:
    """One answer. ``status`` and ``headers`` (lower-case names) are there from the start; the body comes in pieces."""

    def __init__(self, connection: _Connection, pool: Pool, key: tuple[str, int]) -> None:
        self._connection, self._pool, self._key = connection, pool, key
        self.status = connection.status
        self.headers: Mapping[str, str] = connection.headers
        self._finished = False

    async def piece(self) -> bytes | None:
        """The next piece of the body as it arrives, None at its end. Raises PeerClosed when it is cut short."""
        if self._finished:
            return None
        piece = await self._connection.next_piece()
        if piece is None:
            self._finished = True
            self._pool.give_back(self._key, self._connection)
        return piece

    async def body(self) -> AsyncGenerator[bytes]:
        """All pieces as they arrive. Raises PeerClosed when the answer is cut short."""
        while (piece := await self.piece()) is not None:
            yield piece

    async def read(self) -> bytes:
        """The whole body."""
        return b"".join([piece async for piece in self.body()])

    def abort(self) -> None:
        """Close the connection, so that the server sees that nobody waits any more. Harmless when all was taken."""
        if not self._finished:
            self._connection.cut()


class Pool:
    """Connections by host and port; as many as are needed at once."""

    def __init__(self, *, connect_timeout_s: float = 2.0) -> None:
        self._connect_timeout_s = connect_timeout_s
        self._idle: dict[tuple[str, int], dict[_Connection, None]] = {}

    async def request(self, method: str, url: str, headers: Mapping[str, str], body: bytes = b"") -> Exchange:
        """Send and wait for the head of the answer. Raises ConnectFailed, PeerClosed or ProtocolFault."""
        parts = urlsplit(url)
        if parts.scheme != "http":
            raise ConnectFailed(f"{url}: only http:// is spoken here")
        key = (parts.hostname or "127.0.0.1", parts.port or 80)
        target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        data = _head(method, target, key, headers, len(body)) + body
        connection = self._take(key)
        if connection is not None:
            try:
                return await self._exchange(connection, key, data, head_only=method == "HEAD")
            except PeerClosed:
                if connection.answered:
                    raise
        return await self._exchange(await self._connect(key), key, data, head_only=method == "HEAD")

    def give_back(self, key: tuple[str, int], connection: _Connection) -> None:
        if connection.reusable:
            connection.rest_in(self._idle.setdefault(key, {}))
        else:
            connection.cut()

    def close(self) -> None:
        """Close idle connections; those in use end with their exchanges."""
        for connections in self._idle.values():
            for connection in connections:
                connection.cut()
            connections.clear()

    async def _exchange(
        self, connection: _Connection, key: tuple[str, int], data: bytes, *, head_only: bool
    ) -> Exchange:
        try:
            await connection.send(data, head_only=head_only)
        except BaseException:
            connection.cut()
            raise
        return Exchange(connection, self, key)

    def _take(self, key: tuple[str, int]) -> _Connection | None:
        idle = self._idle.get(key, {})
        while idle:
            connection, _ = idle.popitem()
            if connection.reusable:
                return connection
        return None

    async def _connect(self, key: tuple[str, int]) -> _Connection:
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(self._connect_timeout_s):
                _, connection = await loop.create_connection(_Connection, *key)
        except TimeoutError as error:
            raise ConnectFailed(f"{key[0]}:{key[1]} did not answer within {self._connect_timeout_s:g} s") from error
        except OSError as error:
            raise ConnectFailed(f"{key[0]}:{key[1]}: {error.strerror or error}") from error
        return connection


class _Connection(asyncio.Protocol):
    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None
        self._lost = False
        self._resting_in: dict[_Connection, None] = {}
        self._reset()

    def _reset(self) -> None:
        self._parser: Any = httptools.HttpResponseParser(self)
        self.status = 0
        self.headers: dict[str, str] = {}
        self.answered = False
        self.complete = False
        self._head: asyncio.Future[None] | None = None
        self._pieces: deque[bytes] = deque()
        self._buffered = 0
        self._paused = False
        self._arrived = asyncio.Event()
        self._failure: HttpError | None = None
        self._head_only = False
        self._excess = False
        self._keep_alive = False

    @property
    def reusable(self) -> bool:
        alive = self._transport is not None and not self._transport.is_closing() and not self._lost
        return alive and self.complete and self._keep_alive and not self._excess and self._failure is None

    def rest_in(self, idle: dict[_Connection, None]) -> None:
        """Wait there for the next request, and leave when the server closes first."""
        self._resting_in = idle
        idle[self] = None

    async def send(self, data: bytes, *, head_only: bool) -> None:
        """Write a request and wait for the head of its answer."""
        self._reset()
        self._head_only = head_only
        self._head = asyncio.get_running_loop().create_future()
        if self._lost or self._transport is None or self._transport.is_closing():
            raise PeerClosed("the connection was closed while idle")
        self._transport.write(data)
        await self._head

    async def next_piece(self) -> bytes | None:
        """The next piece of the body, or None at its end."""
        while not self._pieces:
            if self.complete:
                return None
            if self._failure:
                raise self._failure
            self._arrived.clear()
            await self._arrived.wait()
        piece = self._pieces.popleft()
        self._buffered -= len(piece)
        if self._paused and self._buffered < _BUFFERED // 2 and self._transport and not self._transport.is_closing():
            self._paused = False
            self._transport.resume_reading()
        return piece

    def cut(self) -> None:
        if self._transport:
            self._transport.abort()

    # what asyncio calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        if self.complete:  # nothing was asked: what comes now must not pass for the next answer
            self._excess = True
            self.cut()
            return
        self.answered = True
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserError as error:
            self._fail(ProtocolFault(f"this is not HTTP: {error}"))
            self.cut()
        except httptools.HttpParserUpgrade:
            self._fail(ProtocolFault("the server changed the protocol unasked"))
            self.cut()

    def connection_lost(self, exc: Exception | None) -> None:
        self._lost = True
        self._resting_in.pop(self, None)
        if self._head is not None and self._head.done() and not self.complete and self._until_close() and exc is None:
            self.complete = True
            self._arrived.set()
        elif not self.complete:
            self._fail(PeerClosed("the connection ended before the answer was whole"))

    def _until_close(self) -> bool:
        """An answer without length or chunks lasts until the connection ends."""
        chunked = "chunked" in self.headers.get("transfer-encoding", "").lower()
        return self.status >= 200 and not chunked and "content-length" not in self.headers

    # what httptools calls

    def on_message_begin(self) -> None:
        if self.complete:
            self._excess = True
        else:
            self.headers = {}

    def on_header(self, name: bytes, value: bytes) -> None:
        if self.status:  # a trailer, or more than was asked for
            return
        key, text = name.decode("latin-1").lower(), value.decode("latin-1")
        self.headers[key] = f"{self.headers[key]}, {text}" if key in self.headers else text

    def on_headers_complete(self) -> None:
        status = int(self._parser.get_status_code())
        if status < 200 or self._excess:
            return
        self.status = status
        if self._head_only:
            self.complete = True
            self._keep_alive = bool(self._parser.should_keep_alive())
        if self._head and not self._head.done():
            self._head.set_result(None)

    def on_body(self, body: bytes) -> None:
        if self.complete:
            return
        self._pieces.append(body)
        self._buffered += len(body)
        if self._buffered > _BUFFERED and not self._paused and self._transport:
            self._paused = True
            self._transport.pause_reading()
        self._arrived.set()

    def on_message_complete(self) -> None:
        if self.status and not self.complete:
            self.complete = True
            self._keep_alive = bool(self._parser.should_keep_alive())  # the parser knows only now; later it forgets
            self._arrived.set()

    def _fail(self, failure: HttpError) -> None:
        self._failure = self._failure or failure
        if self._head and not self._head.done():
            self._head.set_exception(failure)
        self._arrived.set()


def _head(method: str, target: str, key: tuple[str, int], headers: Mapping[str, str], length: int) -> bytes:
    host = f"[{key[0]}]" if ":" in key[0] else key[0]
    lines = [f"{method} {target} HTTP/1.1", f"host: {host}:{key[1]}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    if length or method in ("POST", "PUT", "PATCH"):
        lines.append(f"content-length: {length}")
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")
