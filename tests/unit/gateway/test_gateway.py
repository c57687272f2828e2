from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest

from dsctl.gateway.config import EngineAddress, parse_config
from dsctl.gateway.engines import Choice
from dsctl.gateway.handoff import prefill_body
from dsctl.http1.client import PeerClosed
from tests.loop import run
from tests.unit.gateway.engines import Engine, answer, drop, gateway, half_a_stream, hang, status

CHAT: dict[str, Any] = {
    "model": "lab",
    "messages": [{"role": "user", "content": "hi"}],
    "max_tokens": 9,
    "unknown": {"kept": 1},
}
STREAM = {**CHAT, "stream": True, "stream_options": {"include_usage": True}}


def pair(prefill: Any = answer, decode: Any = answer) -> tuple[list[Engine], list[Engine]]:
    return [Engine("prefill0", prefill)], [Engine("decode0", decode), Engine("decode1", answer)]


def test_the_prefiller_gets_one_token_and_the_decoder_the_very_bytes() -> None:
    async def go() -> None:
        prefills, decodes = pair()
        async with gateway(prefills, decodes) as front:
            status_code, body, headers = await front.post(STREAM, authorization="Bearer k", **{"x-request-id": "mine"})
            assert status_code == 200
            assert body.count(b"data: ") == 4
            assert headers["x-request-id"] == "mine"
        (asked,) = prefills[0].asked
        assert (asked["max_tokens"], asked["stream"], asked["unknown"]) == (1, False, {"kept": 1})
        assert "stream_options" not in asked
        (decoded,) = [asked for engine in decodes for asked in engine.asked]
        assert decoded == STREAM
        assert prefills[0].headers[0]["authorization"] == "Bearer k"
        assert prefills[0].headers[0]["x-request-id"] == "mine"

    run(go())


@pytest.mark.parametrize(
    "given", [{"max_tokens": 5}, {"max_completion_tokens": 5}, {"max_tokens": 5, "n": 3, "min_tokens": 4}, {}]
)
def test_every_way_to_ask_for_tokens_becomes_one(given: dict[str, Any]) -> None:
    asked = json.loads(prefill_body({"model": "lab", **given}))
    assert asked.get("max_tokens", asked.get("max_completion_tokens")) == 1
    assert asked["n"] == 1
    assert not {"min_tokens", "stream_options"} & asked.keys()


@pytest.mark.parametrize(("fault", "reason"), [(status(500), "status_500"), (drop, "broken"), (hang, "timeout")])
@pytest.mark.parametrize("body", [CHAT, STREAM], ids=["whole", "stream"])
def test_without_a_prefiller_a_decoder_answers(fault: Any, reason: str, body: Any) -> None:
    async def go() -> None:
        prefills, decodes = pair(prefill=fault)
        async with gateway(prefills, decodes, prefill_timeout_s=0.2) as front:
            status_code, text, _ = await front.post(body)
            assert status_code == 200
            assert b"decode" in text
            _, metrics = await front.get("/metrics")
            assert f'prefill_fallbacks_total{{reason="{reason}"}} 1' in metrics.decode()

    run(go())


def test_an_unreachable_prefiller_is_tried_no_more_for_a_while() -> None:
    async def go() -> None:
        prefills, decodes = pair()
        async with gateway(prefills, decodes) as front:
            await prefills[0].server.close()  # type: ignore[union-attr]
            for _ in range(2):
                status_code, _, _ = await front.post(CHAT)
                assert status_code == 200
            assert front.app.prefill.engines[0].failures >= 1
            for _ in range(2):
                await front.app.look()
            _, health = await front.get("/health")
            assert json.loads(health) == {
                "status": "degraded",
                "engines": {"prefill0": False, "decode0": True, "decode1": True},
            }

    run(go())


def test_a_wrong_request_is_the_clients_own_answer() -> None:
    async def go() -> None:
        prefills, decodes = pair(prefill=status(404))
        async with gateway(prefills, decodes) as front:
            status_code, body, _ = await front.post(CHAT)
            assert status_code == 404
            assert b"from prefill0" in body
            assert not any(engine.asked for engine in decodes)

    run(go())


@pytest.mark.parametrize("fault", [status(500), drop, hang], ids=["500", "drop", "hang"])
@pytest.mark.parametrize("body", [CHAT, STREAM], ids=["whole", "stream"])
def test_before_the_first_byte_another_decoder_answers(fault: Any, body: Any) -> None:
    async def go() -> None:
        decodes = [Engine("decode0", fault), Engine("decode1", answer)]
        async with gateway([], decodes, first_token_timeout_s=0.2, answer_timeout_s=0.2) as front:
            for _ in range(2):  # whichever is tried first
                status_code, text, _ = await front.post(body)
                assert status_code == 200
                assert b"decode1" in text

    run(go())


@pytest.mark.parametrize(("fault", "code"), [(drop, 502), (hang, 504)])
def test_when_nobody_answers_the_client_is_told_in_time(fault: Any, code: int) -> None:
    async def go() -> None:
        decodes = [Engine("decode0", fault), Engine("decode1", fault)]
        async with gateway([], decodes, answer_timeout_s=0.2) as front:
            status_code, body, _ = await front.post(CHAT)
            assert status_code == code
            assert json.loads(body)["error"]["type"] == "upstream_error"

    run(go(), limit_s=5)


def test_an_engines_own_error_is_passed_on_when_no_other_is_left() -> None:
    async def go() -> None:
        async with gateway([], [Engine("decode0", status(503))]) as front:
            status_code, body, _ = await front.post(CHAT)
            assert status_code == 503
            assert b"from decode0" in body

    run(go())


def test_a_stream_that_breaks_says_so_and_never_ends_as_if_whole() -> None:
    async def go() -> None:
        async with gateway([], [Engine("decode0", half_a_stream)]) as front:
            status_code, body, _ = await front.post(STREAM)
            assert status_code == 200
            assert body.startswith(b'data: {"word": "one"}')
            assert b'"upstream_error"' in body
            assert b"[DONE]" not in body
            _, metrics = await front.get("/metrics")
            assert 'stream_failures_total{reason="broken"} 1' in metrics.decode()

    run(go())


def test_a_silent_stream_ends_with_the_idle_limit() -> None:
    async def one_then_silence(engine: Engine, request: Any, response: Any) -> None:
        response.start(200, {"content-type": "text/event-stream"})
        response.write(b'data: {"word": "one"}\n\n')
        await asyncio.sleep(60)

    async def go() -> None:
        async with gateway([], [Engine("decode0", one_then_silence)], idle_timeout_s=0.2) as front:
            _, body, _ = await front.post(STREAM)
            assert b"timeout" in body

    run(go(), limit_s=5)


def test_a_whole_answer_that_breaks_is_cut_not_shortened() -> None:
    async def half(engine: Engine, request: Any, response: Any) -> None:
        response.start(200, {}, length=100)
        response.write(b"half")
        await asyncio.sleep(0.02)
        response.cut()

    async def go() -> None:
        async with gateway([], [Engine("decode0", half)]) as front:
            with pytest.raises(PeerClosed):
                await front.post(CHAT)

    run(go())


async def until(holds: Callable[[], bool]) -> None:
    """What happens on another connection comes with no event of its own here."""
    while not holds():  # noqa: ASYNC110
        await asyncio.sleep(0.005)


@pytest.mark.parametrize("body", [CHAT, STREAM], ids=["whole", "stream"])
@pytest.mark.parametrize("where", ["prefill", "decode"])
def test_a_client_that_goes_frees_the_engine_at_once(body: Any, where: str) -> None:
    async def go() -> None:
        prefills, decodes = pair(prefill=hang if where == "prefill" else answer)
        if where == "decode":
            for engine in decodes:
                engine.behaviour = hang
        busy = prefills if where == "prefill" else decodes
        async with gateway(prefills, decodes) as front:
            task = asyncio.ensure_future(front.post(body))
            await until(lambda: any(engine.asked for engine in busy))
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            started = asyncio.get_running_loop().time()
            await until(lambda: any(engine.aborted for engine in busy))
            assert asyncio.get_running_loop().time() - started < 0.5
            assert sum(e.inflight for e in (*front.app.prefill.engines, *front.app.decode.engines)) == 0
            _, metrics = await front.get("/metrics")
            assert "client_aborts_total 1" in metrics.decode()

    run(go(), limit_s=10)


@pytest.mark.parametrize(
    ("method", "path", "body", "code"),
    [
        ("POST", "/v1/chat/completions", b"not json", 400),
        ("POST", "/v1/chat/completions", b"[1]", 400),
        ("GET", "/v1/chat/completions", b"", 405),
        ("GET", "/nothing", b"", 404),
        ("GET", "/v1/models", b"", 200),
    ],
)
def test_wrong_requests_get_openai_errors(method: str, path: str, body: bytes, code: int) -> None:
    async def go() -> None:
        async with gateway(*pair()) as front:
            exchange = await front.pool.request(method, f"http://127.0.0.1:{front.server.port}{path}", {}, body)
            text = await exchange.read()
            assert exchange.status == code
            assert code == 200 or "message" in json.loads(text)["error"]

    run(go())


def test_refusing_decoders_cost_no_try() -> None:
    async def go() -> None:
        decodes = [Engine("decode0", answer), Engine("decode1", answer), Engine("decode2", answer)]
        async with gateway([], decodes) as front:
            for engine in decodes[:2]:
                assert engine.server
                await engine.server.close()
            for _ in range(3):
                status_code, text, _ = await front.post(CHAT)
                assert (status_code, b"decode2" in text) == (200, True)

    run(go())


def test_a_gateway_that_has_seen_no_engine_is_not_healthy() -> None:
    async def go() -> None:
        async with gateway([], [Engine("decode0", status(500))]) as front:
            front.app.decode.engines[0].up = False
            code, body = await front.get("/health")
            assert (code, json.loads(body)["status"]) == (503, "down")

    run(go())


def test_an_error_within_a_broken_event_is_an_event_of_its_own() -> None:
    async def half_an_event(engine: Engine, request: Any, response: Any) -> None:
        response.start(200, {"content-type": "text/event-stream"})
        response.write(b'data: {"wor')
        await asyncio.sleep(0.02)
        response.cut()

    async def go() -> None:
        async with gateway([], [Engine("decode0", half_an_event)]) as front:
            _, body, _ = await front.post(STREAM)
            *_, last = [block for block in body.split(b"\n\n") if block]
            assert json.loads(last.removeprefix(b"data: "))["error"]["type"] == "upstream_error"

    run(go())


def addresses(*names: str) -> tuple[EngineAddress, ...]:
    return tuple(EngineAddress(name, f"http://{name}:1") for name in names)


def test_the_least_loaded_engine_comes_first_and_ties_go_round() -> None:
    choice = Choice(addresses("a", "b", "c"), "least-loaded", lambda: 0.0)
    choice.engines[0].inflight = 2
    assert choice.order()[-1].name == "a"
    assert {choice.order()[0].name for _ in range(4)} == {"b", "c"}


def test_round_robin_takes_turns_whatever_the_load() -> None:
    choice = Choice(addresses("a", "b"), "round-robin", lambda: 0.0)
    choice.engines[0].inflight = 9
    assert sorted(choice.order()[0].name for _ in range(4)) == ["a", "a", "b", "b"]


def test_an_engine_that_failed_is_left_alone_longer_each_time_and_forgiven_when_it_answers() -> None:
    now = [0.0]
    choice = Choice(addresses("a"), "least-loaded", lambda: now[0])
    (engine,) = choice.engines
    engine.answered()
    waits: list[float] = []
    for _ in range(6):
        engine.failed(now[0])
        waits.append(engine.avoid_until - now[0])
    assert waits == [1, 2, 4, 8, 10, 10]
    assert not engine.usable(5.0)
    engine.answered()
    assert engine.usable(0.0)


GOOD: dict[str, Any] = {
    "schema": "dsctl.gateway/1",
    "model": "lab",
    "prefill": [{"name": "p", "url": "http://x:1"}],
    "decode": [{"name": "d", "url": "http://x:2"}],
}


@pytest.mark.parametrize(
    ("change", "names"),
    [
        ({"schema": "x"}, "schema"),
        ({"modle": 1}, "modle"),
        ({"model": ""}, "model"),
        ({"decode": []}, "decode"),
        ({"decode": [{"name": "d"}]}, "decode"),
        ({"decode": [{"name": "d", "url": "https://x"}]}, "decode"),
        ({"mode": "x"}, "mode"),
        ({"prefill": []}, "prefill"),
        ({"mode": "replicas"}, "prefill"),
        ({"prefill_timeout_s": -1}, "prefill_timeout_s"),
        ({"port": True}, "port"),
        ({"port": 99999}, "port"),
        ({"decode": 5}, "decode"),
        ({"model": 5}, "model"),
        ({"idle_timeout_s": 0}, "idle_timeout_s"),
        ({"decode": [{"name": "d", "url": "http://x:nope"}]}, "decode"),
    ],
)
def test_a_wrong_configuration_names_its_key(change: dict[str, Any], names: str) -> None:
    parse_config(dict(GOOD))
    with pytest.raises(ValueError, match=names):
        parse_config({**GOOD, **change})
