"""Runs one gateway process until it is asked to stop; then answers in flight are finished first."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import sys
from pathlib import Path

import uvloop

from dsctl.gateway.app import App
from dsctl.gateway.config import GatewayConfig, load_config
from dsctl.http1.server import Limits, serve

_LOOK_EVERY_S = 1.0


def run(path: Path) -> int:
    """Exit status 0 after an orderly end, 2 for a wrong configuration, 4 when the port is taken."""
    try:
        config = load_config(path)
    except (ValueError, TypeError) as error:
        sys.stderr.write(f"error: {error}\nhint: dsctl gateway check {path}\n")
        return 2
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    try:
        uvloop.run(_serve(config))
    except OSError as error:
        sys.stderr.write(f"error: cannot listen on {config.host}:{config.port}: {error.strerror or error}\n")
        return 4
    return 0


async def _serve(config: GatewayConfig) -> None:
    app = App(config)
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    await app.look()
    server = await serve(app.handle, config.host, config.port, limits=Limits(body=config.max_body_bytes))
    sys.stdout.write(f"gateway for {config.model} listens on http://{config.host}:{server.port}\n")
    watching = asyncio.create_task(_watch(app))
    await stop.wait()
    await server.close(config.drain_s)
    watching.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await watching
    app.pool.close()


async def _watch(app: App) -> None:
    while True:
        await app.look()
        await asyncio.sleep(_LOOK_EVERY_S)
