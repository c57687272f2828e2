from __future__ import annotations

import asyncio
import contextlib
import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dsctl.http1.client import ConnectFailed, PeerClosed, Pool, ProtocolFault
from dsctl.http1.server import Handler, Limits, Request, Response, Server, serve
from tests.loop import run


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


REQUEST = b"POST /a%20b?q=1 HTTP/1.1\r\nHost: x\r\nX-Name: \xe9\r\nContent-Length: 5\r\n\r\nhello"


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.integers(1, len(REQUEST) - 1), max_size=6, unique=True))
def test_a_request_cut_anywhere_is_the_same_request(cuts: list[int]) -> None:
    edges = [0, *sorted(cuts), len(REQUEST)]
    pieces = [REQUEST[a:b] for a, b in pairwise(edges)]

    async def go() -> bytes:
        async with Serving(echo) as server:
            return await raw(server.port, *pieces, answer_until=b"}")

    answer = run(go())
    head, _, body = answer.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200 OK")
    assert json.loads(body) == {"method": "POST", "path": "/a b", "query": "q=1", "body": "hello"}
    assert b"x-name: \xe9" in head


@settings(max_examples=40, deadline=None)
@given(st.binary(min_size=1, max_size=200))
def test_garbage_is_refused_and_never_hangs(data: bytes) -> None:
    async def go() -> bytes:
        async with Serving(echo, read_s=0.2, keep_alive_s=0.2) as server:
            return await raw(server.port, data)

    answer = run(go(), limit_s=5)
    assert answer == b"" or answer.startswith((b"HTTP/1.1 4", b"HTTP/1.1 5", b"HTTP/1.1 200"))


def test_limits_and_slowness_have_their_own_answers() -> None:
    async def go() -> list[bytes]:
        async with Serving(echo, body=10, head=300, read_s=0.1) as server:
            return [
                await raw(server.port, b"POST / HTTP/1.1\r\nContent-Length: 11\r\n\r\n"),
                await raw(
                    server.port, b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nb\r\n01234567890\r\n0\r\n\r\n"
                ),
                await raw(server.port, b"GET / HTTP/1.1\r\nX: " + b"y" * 400 + b"\r\n\r\n"),
                await raw(server.port, b"POST / HTTP/1.1\r\nContent-Length: 5\r\n\r\nhel"),
            ]

    statuses = [answer.split()[1] for answer in run(go())]
    assert statuses == [b"413", b"413", b"431", b"408"]


def test_pipelined_requests_are_answered_in_order() -> None:
    async def slow_first(request: Request, response: Response) -> None:
        if request.path == "/1":
            await asyncio.sleep(0.05)
        await echo(request, response)

    async def go() -> bytes:
        async with Serving(slow_first) as server:
            two = b"GET /1 HTTP/1.1\r\n\r\nGET /2 HTTP/1.1\r\nConnection: close\r\n\r\n"
            return await raw(server.port, two)

    answer = run(go())
    assert answer.count(b"HTTP/1.1 200") == 2
    assert answer.index(b'"/1"') < answer.index(b'"/2"')


def test_expect_continue_is_answered_before_the_body() -> None:
    async def go() -> bytes:
        async with Serving(echo) as server:
            reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
            writer.write(b"POST / HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 2\r\nConnection: close\r\n\r\n")
            first = await reader.readline()
            writer.write(b"ok")
            rest = await reader.read()
            writer.close()
            return first + rest

    answer = run(go())
    assert answer.startswith(b"HTTP/1.1 100 Continue")
    assert b"HTTP/1.1 200" in answer


def test_a_failing_handler_is_a_500_and_after_its_start_a_cut() -> None:
    async def fail(request: Request, response: Response) -> None:
        if request.path == "/late":
            response.start(200, {})
            response.write(b"half")
        raise RuntimeError("on purpose")

    async def go() -> tuple[int, bytes]:
        async with Serving(fail) as server:
            pool = Pool()
            url = f"http://127.0.0.1:{server.port}"
            early = await pool.request("GET", url + "/early", {})
            body = await early.read()
            late = await pool.request("GET", url + "/late", {})
            with pytest.raises(PeerClosed):
                await late.read()
            pool.close()
            return early.status, body

    status, body = run(go())
    assert status == 500
    assert json.loads(body)["error"]["code"] == 500


def test_a_handler_that_forgets_its_end_does_not_leave_the_client_waiting() -> None:
    async def forget(request: Request, response: Response) -> None:
        response.start(200, {})

    async def go() -> None:
        async with Serving(forget) as server:
            pool = Pool()
            exchange = await pool.request("GET", f"http://127.0.0.1:{server.port}/", {})
            with pytest.raises(PeerClosed):
                await exchange.read()
            pool.close()

    run(go())


def test_a_client_that_goes_cancels_its_handler_at_once() -> None:
    seen: list[float] = []

    async def wait(request: Request, response: Response) -> None:
        loop = asyncio.get_running_loop()
        started = loop.time()
        try:
            await asyncio.sleep(30)
        except asyncio.CancelledError:
            seen.append(loop.time() - started)
            raise

    async def go() -> None:
        async with Serving(wait) as server:
            _, writer = await asyncio.open_connection("127.0.0.1", server.port)
            writer.write(b"GET / HTTP/1.1\r\n\r\n")
            await asyncio.sleep(0.05)
            writer.close()
            await asyncio.sleep(0.1)

    run(go())
    assert len(seen) == 1
    assert seen[0] < 0.5


def test_connections_are_kept_and_a_stale_one_costs_no_request() -> None:
    async def go() -> list[int]:
        pool = Pool()
        statuses: list[int] = []
        async with Serving(echo) as server:
            url = f"http://127.0.0.1:{server.port}/"
            for _ in range(3):
                exchange = await pool.request("POST", url, {}, b"x")
                await exchange.read()
                statuses.append(exchange.status)
            assert len(server.connections) == 1
            for connection in list(server.connections):
                connection.close()
            exchange = await pool.request("POST", url, {}, b"x")
            await exchange.read()
            statuses.append(exchange.status)
        pool.close()
        return statuses

    assert run(go()) == [200, 200, 200, 200]


async def _say(data: bytes, *, then_close: bool = True) -> Any:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(data)
        await writer.drain()
        if then_close:
            writer.close()

    return await asyncio.start_server(talk, "127.0.0.1", 0)


@pytest.mark.parametrize(
    ("data", "failure"),
    [
        (b"", PeerClosed),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf", PeerClosed),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n", PeerClosed),
        (b"this is not http at all\r\n\r\n", ProtocolFault),
    ],
)
def test_an_answer_that_is_not_whole_is_an_error(data: bytes, failure: type[Exception]) -> None:
    async def go() -> None:
        server = await _say(data)
        async with server:
            pool = Pool()
            with pytest.raises(failure):
                await (await pool.request("GET", f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/", {})).read()
            pool.close()
        await asyncio.sleep(0.01)

    run(go())


def test_an_answer_without_length_lasts_until_the_connection_ends() -> None:
    async def go() -> bytes:
        server = await _say(b"HTTP/1.1 200 OK\r\n\r\nall of it")
        async with server:
            pool = Pool()
            body = await (
                await pool.request("GET", f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/", {})
            ).read()
            pool.close()
        await asyncio.sleep(0.01)
        return body

    assert run(go()) == b"all of it"


def test_a_refused_connection_is_told_from_a_broken_one() -> None:
    async def go() -> None:
        with pytest.raises(ConnectFailed):
            await Pool().request("GET", "http://127.0.0.1:1/", {})

    run(go())


def test_a_slow_taker_holds_the_sender_back() -> None:
    sent: list[int] = []
    size, count = 64 * 1024, 400

    async def flood(request: Request, response: Response) -> None:
        response.start(200, {})
        for number in range(count):
            response.write(b"x" * size)
            sent.append(number)
            await response.drain()
        response.end()

    async def go() -> int:
        async with Serving(flood) as server:
            pool = Pool()
            exchange = await pool.request("GET", f"http://127.0.0.1:{server.port}/", {})
            await asyncio.sleep(0.3)
            held = len(sent)
            total = len(await exchange.read())
            pool.close()
            assert total == size * count
            return held

    assert run(go()) < 400
