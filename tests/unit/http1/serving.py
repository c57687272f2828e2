"""Servers and raw clients for the tests of HTTP/1.1."""

from __future__ import annotations

import asyncio
import contextlib
import json
from typing import Any

from dsctl.http1.server import Handler, Limits, Request, Response, Server, serve


async def echo(request: Request, response: Response) -> None:
    said = {
        "method": request.method,
        "path": request.path,
        "query": request.query,
        "body": request.body.decode("latin-1"),
    }
    response.send(200, json.dumps(said).encode(), headers={"x-name": request.headers.get("x-name", "")})


async def raw(port: int, *pieces: bytes, answer_until: bytes = b"") -> bytes:
    """Send bytes as they are; read to the end, or until something was seen."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    for piece in pieces:
        writer.write(piece)
        await writer.drain()
        await asyncio.sleep(0)
    data = b""
    while not (answer_until and answer_until in data):
        more = await reader.read(65536)
        if not more:
            break
        data += more
    writer.close()
    with contextlib.suppress(OSError):
        await writer.wait_closed()
    return data


class Serving:
    def __init__(self, handler: Handler, **limits: Any) -> None:
        self._handler, self._limits = handler, Limits(**limits)

    async def __aenter__(self) -> Server:
        self._server = await serve(self._handler, "127.0.0.1", 0, limits=self._limits)
        return self._server

    async def __aexit__(self, *_: object) -> None:
        await self._server.close()
        await asyncio.sleep(0.01)
