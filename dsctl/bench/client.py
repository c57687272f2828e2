"""Knows how to send load: pre-encoded requests on pre-opened connections, times taken the moment bytes arrive.

A request never waits for another one. Every piece of an answer is kept with its time; what it means is worked out after
the step, so that reading does not delay sending.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any, cast
from urllib.parse import urlsplit

import httptools


@dataclass(slots=True)
class Shot:
    """One request as it went. Times are ``perf_counter`` seconds; 0 means that it never came to that."""

    due: float
    sent: float = 0.0
    ended: float = 0.0
    status: int = 0
    failure: str = ""
    pieces: list[tuple[float, bytes]] = field(default_factory=list[tuple[float, bytes]])


class Gun:
    """Connections to one target, grown as needed. ``on_end`` is called with each request that ended, well or not."""

    def __init__(self, url: str, path: str, timeout_s: float, on_end: Callable[[Shot], None]) -> None:
        parts = urlsplit(url)
        self.address = (parts.hostname or "127.0.0.1", parts.port or 80)
        self._path = path
        self._timeout_s = timeout_s
        self.on_end = on_end
        self.idle: list[_Connection] = []
        self.flying: set[_Connection] = set()
        self._opening: set[asyncio.Task[None]] = set()

    async def open(self, count: int) -> None:
        """Have ``count`` connections ready. Raises OSError when the target cannot be reached."""
        loop = asyncio.get_running_loop()
        for _ in range(count):
            _, connection = await loop.create_connection(lambda: _Connection(self), *self.address)
            self.idle.append(connection)

    def encode(self, body: bytes) -> bytes:
        head = (
            f"POST {self._path} HTTP/1.1\r\nhost: {self.address[0]}:{self.address[1]}\r\n"
            f"content-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
        )
        return head.encode() + body

    def fire(self, shot: Shot, data: bytes) -> None:
        """Send now, on an idle connection or a new one."""
        while self.idle:
            connection = self.idle.pop()
            if connection.alive:
                connection.send(shot, data, self._timeout_s)
                return
        task = asyncio.get_running_loop().create_task(self._open_and_send(shot, data))
        self._opening.add(task)
        task.add_done_callback(self._opening.discard)

    async def _open_and_send(self, shot: Shot, data: bytes) -> None:
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(self._timeout_s):
                _, connection = await loop.create_connection(lambda: _Connection(self), *self.address)
        except (OSError, TimeoutError):
            shot.failure, shot.ended = "connect", perf_counter()
            self.on_end(shot)
            return
        connection.send(shot, data, self._timeout_s)

    def close(self) -> None:
        """End everything; requests in flight count as cut off."""
        for task in self._opening:
            task.cancel()
        for connection in [*self.flying, *self.idle]:
            connection.abort("cut_off")
        self.idle.clear()


class _Connection(asyncio.Protocol):
    def __init__(self, gun: Gun) -> None:
        self._gun = gun
        self._transport: asyncio.Transport | None = None
        self._shot: Shot | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._parser: Any = None
        self._now = 0.0

    @property
    def alive(self) -> bool:
        return self._transport is not None and not self._transport.is_closing()

    def send(self, shot: Shot, data: bytes, timeout_s: float) -> None:
        self._shot = shot
        self._parser = httptools.HttpResponseParser(self)
        self._gun.flying.add(self)
        self._timer = asyncio.get_running_loop().call_later(timeout_s, self.abort, "timeout")
        shot.sent = perf_counter()
        if self._transport:
            self._transport.write(data)

    def abort(self, why: str) -> None:
        self._finish(why)
        if self._transport:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        self._now = perf_counter()
        if self._shot is None:
            return
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserError:
            self.abort("protocol")

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002  asyncio's signature
        self._finish("closed")

    def on_body(self, body: bytes) -> None:
        if self._shot:
            self._shot.pieces.append((self._now, body))

    def on_message_complete(self) -> None:
        if self._shot is None:
            return
        self._shot.status = int(self._parser.get_status_code())
        reusable = bool(self._parser.should_keep_alive())
        self._finish("")
        if reusable and self.alive:
            self._gun.idle.append(self)
        elif self._transport:
            self._transport.close()

    def _finish(self, failure: str) -> None:
        shot, self._shot = self._shot, None
        if self._timer:
            self._timer.cancel()
        self._gun.flying.discard(self)
        if shot is None:
            return
        shot.failure, shot.ended = failure, perf_counter()
        self._gun.on_end(shot)
