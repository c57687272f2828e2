from __future__ import annotations

import asyncio
import json
import socket
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dsctl.http1.client import PeerClosed, Pool
from dsctl.http1.server import Request, Response
from tests.loop import run
from tests.unit.http1.serving import Serving, echo, raw

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


@pytest.mark.parametrize("body", [b"", b"hi"])
@pytest.mark.parametrize("together", [True, False])
def test_an_offer_to_upgrade_is_passed_over_and_the_body_kept(body: bytes, *, together: bool) -> None:
    """As curl --http2 and Java's client send every first request."""
    head = (
        b"POST /p?q HTTP/1.1\r\nHost: x\r\nConnection: Upgrade, HTTP2-Settings, close\r\nUpgrade: h2c\r\n"
        b"HTTP2-Settings: AAMAAABk\r\nContent-Length: %d\r\n\r\n" % len(body)
    )
    pieces = [head + body] if together else [head, body]

    async def go() -> bytes:
        async with Serving(echo) as server:
            return await raw(server.port, *pieces)

    answer = run(go())
    assert answer.count(b"HTTP/1.1") == 1
    assert json.loads(answer.partition(b"\r\n\r\n")[2])["body"] == body.decode()


def test_connect_is_refused() -> None:
    async def go() -> bytes:
        async with Serving(echo) as server:
            return await raw(server.port, b"CONNECT x:1 HTTP/1.1\r\n\r\n", b"tunnelled bytes")

    assert run(go()).startswith(b"HTTP/1.1 501 ")


@pytest.mark.parametrize(
    ("second", "status"), [(b"GET /x HT", b"408"), (b"\x00garbage\r\n\r\n", b"400"), (b"GET / HTTP/1.1\r\n", b"408")]
)
def test_what_follows_a_request_does_not_disturb_its_answer(second: bytes, status: bytes) -> None:
    async def slow(request: Request, response: Response) -> None:
        response.start(200)
        await asyncio.sleep(0.15)
        response.write(b"whole")
        response.end()

    async def go() -> bytes:
        async with Serving(slow, read_s=0.05) as server:
            return await raw(server.port, b"GET / HTTP/1.1\r\n\r\n" + second)

    answer = run(go())
    assert b"5\r\nwhole\r\n0\r\n\r\nHTTP/1.1 " + status in answer


def test_too_many_pipelined_requests_are_refused_after_those_before() -> None:
    async def go() -> bytes:
        async with Serving(echo) as server:
            return await raw(server.port, b"GET / HTTP/1.1\r\n\r\n" * 40)

    answer = run(go())
    assert answer.count(b"HTTP/1.1 200") == 17
    assert answer.count(b"HTTP/1.1 400") == 1


def test_a_client_that_sends_too_much_still_reads_why() -> None:
    """A close while its bytes arrive would reset the connection, and the reset overtakes the answer."""

    async def go() -> bytes:
        async with Serving(echo, body=1000) as server:
            head = b"POST / HTTP/1.1\r\nContent-Length: 8000000\r\n\r\n"
            return await raw(server.port, head, *[b"x" * 1_000_000] * 8)

    assert run(go()).startswith(b"HTTP/1.1 413 ")


def test_a_refused_client_that_never_stops_is_cut_off() -> None:
    async def go() -> float:
        loop = asyncio.get_running_loop()
        async with Serving(echo, body=10, linger_s=0.1) as server:
            _, writer = await asyncio.open_connection("127.0.0.1", server.port)
            writer.write(b"POST / HTTP/1.1\r\nContent-Length: 1000\r\n\r\n")
            started = loop.time()
            while server.connections or loop.time() - started < 0.05:
                writer.write(b"x")
                await asyncio.sleep(0.01)
            writer.close()
            return loop.time() - started

    assert run(go()) < 1


def test_trailers_are_not_headers() -> None:
    async def see(request: Request, response: Response) -> None:
        response.send(200, json.dumps(dict(request.headers)).encode())

    async def go() -> bytes:
        async with Serving(see) as server:
            return await raw(
                server.port,
                b"POST / HTTP/1.1\r\nX-A: 1\r\nX-A: 2\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n"
                b"1\r\nx\r\n0\r\nAuthorization: evil\r\nX-A: 3\r\n\r\n",
            )

    headers = json.loads(run(go()).partition(b"\r\n\r\n")[2])
    assert "authorization" not in headers
    assert headers["x-a"] == "1, 2"


def test_a_target_in_absolute_form_names_the_same_path() -> None:
    async def go() -> bytes:
        async with Serving(echo) as server:
            return await raw(server.port, b"GET http://h:1/v1/models?a=b HTTP/1.1\r\nConnection: close\r\n\r\n")

    seen = json.loads(run(go()).partition(b"\r\n\r\n")[2])
    assert (seen["path"], seen["query"]) == ("/v1/models", "a=b")


def test_old_clients_get_an_answer_that_ends_with_the_connection() -> None:
    async def go() -> bytes:
        async with Serving(stream) as server:
            return await raw(server.port, b"GET / HTTP/1.0\r\n\r\n")

    head, _, body = run(go()).partition(b"\r\n\r\n")
    assert b"chunked" not in head
    assert body == b"onetwo"


async def stream(request: Request, response: Response) -> None:
    response.start(200)
    response.write(b"one")
    response.write(b"two")
    response.end()


@pytest.mark.parametrize(("method", "status"), [("HEAD", 200), ("GET", 204), ("GET", 304)])
def test_answers_without_a_body_have_none(method: str, status: int) -> None:
    async def say(request: Request, response: Response) -> None:
        response.start(status)
        response.write(b"never")
        response.end()

    async def go() -> bytes:
        async with Serving(say) as server:
            return await raw(server.port, f"{method} / HTTP/1.1\r\nConnection: close\r\n\r\n".encode())

    answer = run(go())
    assert answer.endswith(b"\r\n\r\n")
    assert answer.count(b"\r\n\r\n") == 1
    assert (b"chunked" in answer) is (method == "HEAD")


def test_closing_lets_answers_finish_and_be_read() -> None:
    size = 20_000_000

    async def big(request: Request, response: Response) -> None:
        await asyncio.sleep(0.05)
        response.send(200, b"x" * size)

    async def go() -> int:
        async with Serving(big) as server:
            pool = Pool()
            url = f"http://127.0.0.1:{server.port}/"
            asking = asyncio.ensure_future(pool.request("GET", url, {}))
            await asyncio.sleep(0.02)
            closing = asyncio.ensure_future(server.close(10))
            exchange = await asking
            await asyncio.sleep(0.1)  # the handler has long returned; the client reads only now
            got = len(await exchange.read())
            await closing
            with pytest.raises(ConnectionRefusedError):
                await asyncio.open_connection("127.0.0.1", server.port)
            pool.close()
            return got

    assert run(go()) == size


def test_closing_cuts_what_does_not_finish_and_waits_for_its_handler() -> None:
    ended: list[str] = []

    async def forever(request: Request, response: Response) -> None:
        try:
            await asyncio.sleep(60)
        finally:
            await asyncio.sleep(0.02)
            ended.append("handler")

    async def go() -> float:
        loop = asyncio.get_running_loop()
        async with Serving(forever) as server:
            _, writer = await asyncio.open_connection("127.0.0.1", server.port)
            writer.write(b"GET / HTTP/1.1\r\n\r\n")
            await asyncio.sleep(0.05)
            started = loop.time()
            await server.close(0.1)
            took = loop.time() - started
            assert ended == ["handler"]
            writer.close()
            return took

    assert run(go()) < 1


def test_idle_connections_end_with_the_keep_alive_limit_and_without_a_word() -> None:
    async def go() -> bytes:
        async with Serving(echo, keep_alive_s=0.05) as server:
            return await raw(server.port, b"GET / HTTP/1.1\r\n\r\n")

    assert run(go()).count(b"HTTP/1.1") == 1


def test_small_writes_leave_at_once_on_both_sides() -> None:
    """Nagle and delayed acknowledgements together cost 40 ms a request on kept connections."""
    seen: list[int] = []

    async def go() -> None:
        async with Serving(echo) as server:
            pool = Pool()
            await (await pool.request("GET", f"http://127.0.0.1:{server.port}/", {})).read()
            ours: Any = next(iter(server.connections))
            theirs: Any = next(iter(next(iter(pool._idle.values()))))
            seen.extend(
                side._transport.get_extra_info("socket").getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
                for side in (ours, theirs)
            )
            pool.close()

    run(go())
    assert all(seen)
    assert len(seen) == 2
