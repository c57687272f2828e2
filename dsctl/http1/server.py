"""Knows how to serve HTTP/1.1 on a port: every request to one handler, as a task; an end that answers what it began.

A handler that fails before its answer began gives 500; after that the connection is cut, so that the client sees the
truncation. A client that goes away cancels its handler at once.
"""

from __future__ import annotations

import asyncio

from dsctl.http1.connection import Connection, Handler, Limits
from dsctl.http1.message import Request, Response, error_body

__all__ = ["Handler", "Limits", "Request", "Response", "Server", "error_body", "serve"]

_CANCEL_S = 1.0


class Server:
    """``port`` is the real one, also when 0 was asked for."""

    def __init__(self, handler: Handler, limits: Limits) -> None:
        self.handler = handler
        self.limits = limits
        self.connections: set[Connection] = set()
        self.closing = False
        self.port = 0
        self._listener: asyncio.Server | None = None
        self._empty = asyncio.Event()
        self._empty.set()

    async def listen(self, host: str, port: int, *, reuse_port: bool) -> None:
        loop = asyncio.get_running_loop()
        self._listener = await loop.create_server(
            lambda: Connection(self), host, port, reuse_port=reuse_port or None, backlog=1024
        )
        self.port = self._listener.sockets[0].getsockname()[1]

    def opened(self, connection: Connection) -> None:
        self.connections.add(connection)
        self._empty.clear()
        if self.closing:
            connection.close()

    def lost(self, connection: Connection) -> None:
        self.connections.discard(connection)
        if not self.connections:
            self._empty.set()

    async def close(self, grace_s: float = 0.0) -> None:
        """Stop accepting, give answers in flight ``grace_s`` to finish and be sent, then cut what is left."""
        self.closing = True
        if self._listener:
            self._listener.close()
        for connection in list(self.connections):
            connection.close_when_idle()
        try:
            await self._wait_empty(grace_s)
        finally:
            tasks = {c.task for c in self.connections if c.task} - {asyncio.current_task()}
            for connection in list(self.connections):
                connection.cut()
        await self._wait_empty(_CANCEL_S)
        if tasks:
            await asyncio.wait(tasks, timeout=_CANCEL_S)

    async def _wait_empty(self, seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                await self._empty.wait()
        except TimeoutError:
            return


async def serve(
    handler: Handler, host: str, port: int, *, reuse_port: bool = False, limits: Limits | None = None
) -> Server:
    """Listen and hand every request to ``handler``. Raises OSError when the port cannot be bound."""
    server = Server(handler, limits or Limits())
    await server.listen(host, port, reuse_port=reuse_port)
    return server
