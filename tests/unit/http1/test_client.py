from __future__ import annotations

import asyncio
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dsctl.http1.client import ConnectFailed, HttpError, PeerClosed, Pool, ProtocolFault
from dsctl.http1.server import Request, Response
from tests.loop import run
from tests.unit.http1.serving import Serving, echo


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


ANSWERS = {
    "length": b"HTTP/1.1 200 OK\r\nX-A: 1\r\nX-A: 2\r\nContent-Length: 5\r\n\r\nhello",
    "chunks": b"HTTP/1.1 200 OK\r\nX-A: 1, 2\r\nTransfer-Encoding: chunked\r\n\r\n"
    b"2\r\nhe\r\n3;x=y\r\nllo\r\n0\r\nX-B: 1\r\n\r\n",
    "continue": b"HTTP/1.1 100 Continue\r\nX-A: 0\r\n\r\n"
    b"HTTP/1.1 200 OK\r\nX-A: 1, 2\r\nContent-Length: 5\r\n\r\nhello",
}


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(sorted(ANSWERS)), st.data())
def test_an_answer_cut_anywhere_is_the_same_answer(kind: str, data: st.DataObject) -> None:
    answer = ANSWERS[kind]
    cuts = data.draw(st.lists(st.integers(1, len(answer) - 1), max_size=6, unique=True))
    edges = [0, *sorted(cuts), len(answer)]

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for _ in range(2):
            await reader.readuntil(b"\r\n\r\n")
            for start, end in pairwise(edges):
                writer.write(answer[start:end])
                await asyncio.sleep(0)
        await reader.read()
        writer.close()

    async def go() -> None:
        server = await asyncio.start_server(talk, "127.0.0.1", 0)
        async with server:
            pool = Pool()
            for _ in range(2):  # the second on the kept connection
                exchange = await pool.request("GET", f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/", {})
                assert exchange.status == 200
                assert exchange.headers["x-a"] == "1, 2"
                assert "x-b" not in exchange.headers
                assert await exchange.read() == b"hello"
            assert sum(len(idle) for idle in pool._idle.values()) == 1
            pool.close()
        await asyncio.sleep(0.01)

    run(go())


@settings(max_examples=40, deadline=None)
@given(st.binary(max_size=200))
def test_garbage_for_an_answer_is_a_typed_failure(garbage: bytes) -> None:
    async def go() -> None:
        server = await _say(garbage)
        async with server:
            pool = Pool()
            with pytest.raises(HttpError):
                await (await pool.request("GET", f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/", {})).read()
            pool.close()
        await asyncio.sleep(0.01)

    run(go(), limit_s=5)


def test_an_answer_in_another_protocol_is_a_fault() -> None:
    async def go() -> None:
        server = await _say(b"HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: h2c\r\n\r\nxyz")
        async with server:
            pool = Pool()
            with pytest.raises(ProtocolFault):
                await pool.request("GET", f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/", {})
        await asyncio.sleep(0.01)

    run(go())


@pytest.mark.parametrize("late", [True, False])
def test_bytes_nobody_asked_for_never_become_the_next_answer(*, late: bool) -> None:
    answer = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n%b"
    spoken: list[str] = []

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while await reader.readline():
            spoken.append("asked")
            await reader.readuntil(b"\r\n\r\n")
            writer.write(answer % b"true" + (b"" if late else answer % b"evil"))
            await asyncio.sleep(0.02)
            if late:
                writer.write(answer % b"evil")
        writer.close()

    async def go() -> list[bytes]:
        server = await asyncio.start_server(talk, "127.0.0.1", 0)
        async with server:
            pool = Pool()
            bodies: list[bytes] = []
            for _ in range(3):
                url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
                bodies.append(await (await pool.request("GET", url, {"x": "1"})).read())
                await asyncio.sleep(0.05)
            pool.close()
        await asyncio.sleep(0.05)
        return bodies

    assert run(go()) == [b"true"] * 3
    assert len(spoken) == 3


def test_an_abandoned_answer_closes_its_connection() -> None:
    """Also when all of it has come: what was not taken must not be left behind for the next request."""

    async def go() -> None:
        async with Serving(echo) as server:
            pool = Pool()
            exchange = await pool.request("GET", f"http://127.0.0.1:{server.port}/", {})
            await asyncio.sleep(0.05)
            exchange.abort()
            await asyncio.sleep(0.05)
            assert not server.connections
            assert not any(pool._idle.values())
            finished = await pool.request("GET", f"http://127.0.0.1:{server.port}/", {})
            await finished.read()
            finished.abort()
            await asyncio.sleep(0.02)
            assert len(server.connections) == 1
            pool.close()

    run(go())


def test_connections_that_the_server_closed_are_forgotten() -> None:
    async def go() -> None:
        async with Serving(echo, keep_alive_s=0.05) as server:
            pool = Pool()
            url = f"http://127.0.0.1:{server.port}/"
            exchanges = await asyncio.gather(*(pool.request("GET", url, {}) for _ in range(20)))
            for exchange in exchanges:
                await exchange.read()
            assert len(pool._idle["127.0.0.1", server.port]) == 20
            await asyncio.sleep(0.2)
            assert not pool._idle["127.0.0.1", server.port]

    run(go())


def test_a_scheme_that_is_not_spoken_is_refused_and_not_sent_in_the_clear() -> None:
    async def go() -> None:
        with pytest.raises(ConnectFailed, match="https"):
            await Pool().request("GET", "https://127.0.0.1/", {"authorization": "Bearer k"})

    run(go())


@pytest.mark.parametrize("method", ["GET", "POST", "HEAD"])
def test_ten_requests_in_a_row_use_one_connection(method: str) -> None:
    opened: list[int] = []

    async def go() -> None:
        async with Serving(echo) as server:
            register = server.opened
            server.opened = lambda connection: (opened.append(1), register(connection))  # type: ignore[method-assign,assign,return-value]
            pool = Pool()
            for _ in range(10):
                await (await pool.request(method, f"http://127.0.0.1:{server.port}/", {})).read()
            pool.close()

    run(go())
    assert len(opened) == 1
