"""``python -m dsctl.simulator engine|store ...``: one simulated process, until SIGTERM."""

from __future__ import annotations

import argparse
import asyncio
import signal
import sys
from contextlib import suppress

import uvloop

from dsctl.http1.server import Handler, serve
from dsctl.simulator.api import Api
from dsctl.simulator.engine import SimEngine, Speed
from dsctl.simulator.store import RemoteStore, StoreApi


def main() -> int:
    arguments = _parser().parse_args()
    sys.stdout.write(f"SIMULATED {arguments.what}: no figure of this process says anything about a real one\n")
    sys.stdout.flush()
    work = _engine(arguments) if arguments.what == "engine" else _store(arguments)
    try:
        uvloop.run(work)
    except OSError as error:
        sys.stderr.write(f"error: {error}\n")
        return 1
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m dsctl.simulator", description=__doc__)
    kinds = parser.add_subparsers(dest="what", required=True)
    engine = kinds.add_parser("engine")
    engine.add_argument("--port", type=int, required=True)
    engine.add_argument("--model", required=True)
    engine.add_argument("--role", choices=("prefill", "decode", "mono"), default="mono")
    engine.add_argument("--store", default="")
    engine.add_argument("--prefill-tokens-per-s", type=float, default=20000.0)
    engine.add_argument("--itl-ms", type=float, default=5.0)
    engine.add_argument("--block", type=int, default=16)
    engine.add_argument("--chunk", type=int, default=256)
    engine.add_argument("--kv-blocks", type=int, default=8192)
    engine.add_argument("--max-num-seqs", type=int, default=16)
    engine.add_argument("--max-model-len", type=int, default=8192)
    engine.add_argument("--boot-ms", type=float, default=100.0)
    engine.add_argument("--seed", type=int, default=0)
    store = kinds.add_parser("store")
    store.add_argument("--port", type=int, required=True)
    store.add_argument("--http-port", type=int, required=True)
    store.add_argument("--chunk", type=int, default=256)
    store.add_argument("--capacity-tokens", type=int, default=4_000_000)
    return parser


async def _engine(arguments: argparse.Namespace) -> None:
    await asyncio.sleep(arguments.boot_ms / 1000)
    speed = Speed(prefill=arguments.prefill_tokens_per_s, itl_s=arguments.itl_ms / 1000)
    engine = SimEngine(
        arguments.model,
        RemoteStore(arguments.store) if arguments.store else None,
        speed,
        block=arguments.block,
        chunk=arguments.chunk,
        blocks=arguments.kv_blocks,
        slots=arguments.max_num_seqs,
        seed=arguments.seed,
    )
    await _until_stopped(Api(engine, arguments.model, arguments.max_model_len).handle, arguments.port)


async def _store(arguments: argparse.Namespace) -> None:
    """The ZMQ port accepts and closes, so that it is taken as the real one's is."""

    async def hang_up(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.close()

    door = await asyncio.start_server(hang_up, "127.0.0.1", arguments.port)
    async with door:
        await _until_stopped(StoreApi(arguments.chunk, arguments.capacity_tokens).handle, arguments.http_port)


async def _until_stopped(handler: Handler, port: int) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    server = await serve(handler, "127.0.0.1", port)
    await stop.wait()
    await server.close(0.2)


if __name__ == "__main__":
    with suppress(KeyboardInterrupt):
        sys.exit(main())
