from __future__ import annotations

import asyncio
import itertools
import json
import random
import statistics
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsctl.bench.arrivals import schedule
from dsctl.bench.client import Shot
from dsctl.bench.prompts import Tokenizer, WordBank, chat_prompts, measure_words, words_of
from dsctl.bench.run import run as run_sweep
from dsctl.bench.samples import Sample, events, sample_of
from dsctl.bench.scrape import PromptTokens, by_role, parse_metrics, prompt_tokens
from dsctl.bench.slo import check, parse_slo
from dsctl.bench.spec import Chat, EngineTarget, Spec, load_spec
from dsctl.bench.summary import StepFacts, percentile, summarize
from dsctl.core.errors import UsageFault
from dsctl.http1.client import Pool
from dsctl.http1.server import Request, Response, serve
from dsctl.simulator.tokens import chat_tokens, tokenize
from tests.loop import run


def test_constant_arrivals_are_constant_and_poisson_ones_are_poisson() -> None:
    assert schedule("constant", 4, 2, seed=0) == [0, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 1.75]
    due = schedule("poisson", 50, 200, seed=1)
    gaps = [b - a for a, b in itertools.pairwise(due)]
    assert len(due) / 200 == pytest.approx(50, rel=0.05)
    assert statistics.stdev(gaps) / statistics.mean(gaps) == pytest.approx(1, abs=0.05)
    assert due == schedule("poisson", 50, 200, seed=1)
    assert due != schedule("poisson", 50, 200, seed=2)


chunks = st.lists(st.sampled_from(["role", "a", "bé", "usage", "done"]), max_size=8)


def stream_of(kinds: list[str]) -> bytes:
    words: dict[str, Any] = {
        "role": {"choices": [{"delta": {"role": "assistant", "content": ""}}]},
        "usage": {"choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": 3}},
    }
    out = b""
    for kind in kinds:
        value = words.get(kind) or {"choices": [{"delta": {"content": kind}}]}
        out += b"data: " + (b"[DONE]" if kind == "done" else orjson.dumps(value)) + b"\n\n"
    return out


@given(chunks, st.data())
def test_events_are_the_same_wherever_the_stream_is_cut(kinds: list[str], data: st.DataObject) -> None:
    stream = stream_of(kinds)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=6)))
    edges = [0, *cuts, len(stream)]
    pieces = [(float(i), stream[a:b]) for i, (a, b) in enumerate(itertools.pairwise(edges))]
    assert [event for _, event in events(pieces)] == [event for _, event in events([(0.0, stream)])]
    assert len([*events(pieces)]) == len(kinds)


def shot(kinds: list[str], **more: Any) -> Shot:
    pieces = [(1.0 + index / 10, stream_of([kind])) for index, kind in enumerate(kinds)]
    return Shot(due=0.5, sent=0.6, ended=2.0, status=200, pieces=pieces, **more)


def test_the_first_token_is_the_first_piece_with_text() -> None:
    sample = sample_of(shot(["role", "a", "a", "usage", "done"]), 0.0)
    assert sample.ok
    assert sample.tokens_at == pytest.approx((1.1, 1.2))
    assert (sample.prompt_tokens, sample.output_tokens) == (7, 3)


@pytest.mark.parametrize(
    ("made", "error"),
    [
        (shot(["role", "a"]), "truncated"),
        (shot(["role", "done"]), "empty"),
        (Shot(0, 0.1, 1, 503), "status_5xx"),
        (Shot(0, 0.1, 1, 429), "status_4xx"),
        (Shot(0, 0.1, 1, 0, "timeout"), "timeout"),
        (Shot(0, 0.1, 1, 200, "", [(0.5, b'data: {"error": {"message": "x"}}\n\n')]), "sse_error"),
        (Shot(0, 0.1, 1, 200, "", [(0.5, b"data: {broken\n\n")]), "protocol"),
    ],
)
def test_each_kind_of_failure_has_its_name(made: Shot, error: str) -> None:
    assert sample_of(made, 0.0).error == error


@given(st.lists(st.floats(0, 1e6), min_size=2, max_size=50))
def test_percentiles_are_those_of_the_standard_library(values: list[float]) -> None:
    ordered = sorted(values)
    cuts = statistics.quantiles(ordered, n=100, method="inclusive")
    for percent in (50, 95, 99):
        assert percentile(ordered, percent / 100) == pytest.approx(cuts[percent - 1], rel=1e-9, abs=1e-6)


def facts(**more: Any) -> StepFacts:
    base: dict[str, Any] = {
        "rate": 10.0, "window": (1.0, 3.0), "prompt_tokens": 100, "shared_tokens": 80, "used": {}, "simulated": False,
    }  # fmt: skip
    return StepFacts(**{**base, **more})


def made(due: float, *, late: float = 0.0, ttft: float = 0.1, error: str = "") -> Sample:
    sent = due + late
    tokens = () if error else (sent + ttft, sent + ttft + 0.02, sent + ttft + 0.05)
    return Sample(due, sent, sent + ttft + 0.05, error, tokens, 100, 3)


def test_only_the_steady_window_counts() -> None:
    samples = [made(due / 10, ttft=9.0 if due < 10 else 0.1) for due in range(31)]
    summary = summarize(samples, facts())
    assert summary["requests"] == 20
    assert summary["ttft_ms"]["p99"] == pytest.approx(100, abs=0.1)
    assert summary["sent_rate"] == pytest.approx(10)
    assert summary["delivered_rate"] == pytest.approx(9.25, abs=0.3), "the drain after the window is not service"
    assert summary["itl_ms"]["p50"] == pytest.approx(25, abs=6)
    assert summary["tpot_ms"]["p50"] == pytest.approx(25)
    assert summary["valid"]


def test_ttft_from_schedule_hides_no_lateness_and_a_late_client_is_not_valid() -> None:
    summary = summarize([made(1 + n / 10, late=0.05) for n in range(20)], facts())
    assert summary["ttft_ms"]["p50"] == pytest.approx(100)
    assert summary["ttft_schedule_ms"]["p50"] == pytest.approx(150)
    assert not summary["valid"]
    assert "late" in summary["invalid_reason"]


def test_errors_are_counted_by_kind_and_never_in_latencies() -> None:
    samples = [made(1 + n / 10, error="timeout" if n % 2 else "") for n in range(20)]
    summary = summarize(samples, facts())
    assert summary["errors"] == {"timeout": 10}
    assert summary["ok"] == summary["ttft_ms"]["n"] == 10


def test_nothing_measured_is_nothing_not_zero() -> None:
    summary = summarize([], facts())
    assert summary["ttft_ms"] == {"p50": None, "p95": None, "p99": None, "n": 0}
    assert summary["reuse"]["measured"] is None
    assert not summary["valid"]


def test_reuse_is_what_no_engine_computed() -> None:
    used = {"prefill": PromptTokens(computed=400, local=1600), "decode": PromptTokens(computed=20, external=1980)}
    summary = summarize([made(1 + n / 10) for n in range(20)], facts(used=used))
    assert summary["reuse"]["measured"] == pytest.approx(1 - 420 / 2000)
    assert summary["reuse"]["ideal"] == 0.8
    dead = {"prefill": PromptTokens(computed=400, local=1600), "decode": PromptTokens(computed=2000)}
    assert summarize([made(1 + n / 10) for n in range(20)], facts(used=dead))["reuse"]["measured"] < 0


PAGE = """# HELP vllm:prompt_tokens_by_source_total x
vllm:prompt_tokens_by_source_total{engine="0",source="local_compute",model_name="a\\"b"} 12.0
vllm:prompt_tokens_by_source_total{engine="1",source="local_compute"} 3
vllm:prompt_tokens_by_source_total{source="external_kv_transfer"} 1.5e3
other_metric 7
"""


def test_counters_are_read_over_all_label_sets() -> None:
    assert prompt_tokens(PAGE) == PromptTokens(computed=15, external=1500)


@given(st.text(max_size=300))
def test_any_page_is_read_without_failing(text: str) -> None:
    parse_metrics(text)


def test_an_engine_that_restarted_counts_from_its_restart() -> None:
    engines = {"decode0": EngineTarget("http://x", "decode")}
    before, after = {"decode0": PromptTokens(100, 0, 900)}, {"decode0": PromptTokens(5, 0, 40)}
    assert by_role(engines, before, after) == {"decode": PromptTokens(5, 0, 40)}
    assert by_role(engines, before, {}) == {}


def test_objectives_are_read_and_held() -> None:
    step = {**summarize([made(1 + n / 10) for n in range(20)], facts()), "rate": 10.0}
    verdicts = check(parse_slo("ttft_p95=200ms,itl_p99=1ms,error_rate=1%"), [step])
    assert [verdict["ok"] for verdict in verdicts] == [True, False, True]
    assert "MISSED: itl_p99" in verdicts[1]["text"]
    empty = summarize([], facts())
    assert [v["ok"] for v in check(parse_slo("ttft_p50=9s,error_rate=0.5"), [empty])] == [False, False]


@pytest.mark.parametrize("text", ["ttft=2s", "ttft_p95", "ttft_p95=fast", "error_rate=few%", "p95_ttft=2s"])
def test_a_wrong_objective_says_how_one_looks(text: str) -> None:
    with pytest.raises(UsageFault) as error:
        parse_slo(text)
    assert "ttft_p95=2s" in error.value.hint


@given(st.integers(1, 3000), st.integers(0, 99))
def test_words_add_up_to_the_tokens_asked_for(tokens: int, seed: int) -> None:
    bank = WordBank({"ba": 1, "koko": 2, "tutamu": 3}, ("ba",))
    text = words_of(bank, tokens, random.Random(seed))
    assert sum(bank.tokens[word] for word in text.split()) == tokens


class MockEngine:
    """Known delays: first token after 30 ms, then one every 10 ms, ``count`` of them."""

    first_s, gap_s = 0.03, 0.01

    def __init__(self, fault: str = "") -> None:
        self.fault = fault
        self.bodies: list[dict[str, Any]] = []

    async def handle(self, request: Request, response: Response) -> None:
        if request.path == "/metrics":
            response.send(200, b"", "text/plain")
            return
        body = json.loads(request.body)
        if request.path == "/tokenize":
            tokens = chat_tokens(body["messages"]) if "messages" in body else tokenize(body["prompt"])
            response.send(200, orjson.dumps({"count": len(tokens), "tokens": tokens}))
            return
        self.bodies.append(body)
        response.start(200, {"content-type": "text/event-stream"})
        await asyncio.sleep(self.first_s)
        response.write(stream_of(["role", "a"]))
        for _ in range(body["max_tokens"] - 1):
            await asyncio.sleep(self.gap_s)
            response.write(stream_of(["a"]))
        usage = {"choices": [], "usage": {"prompt_tokens": 200, "completion_tokens": body["max_tokens"]}}
        response.write(b"data: " + orjson.dumps(usage) + b"\n\n")
        if self.fault == "truncate" and len(self.bodies) % 2:
            response.cut()
            return
        response.write(b"data: [DONE]\n\n")
        response.end()


def spec(port: int, **more: Any) -> Spec:
    url = f"http://127.0.0.1:{port}"
    base: dict[str, Any] = {
        "target": url, "model": "lab", "tokenize_url": url, "engines": {"e": EngineTarget(url, "engine")},
        "workload": Chat(200, 0.8, 4), "rates": (50.0,), "duration_s": 1.0, "warmup_s": 0.2,
    }  # fmt: skip
    return Spec(**{**base, **more})


async def sweep(engine: MockEngine, out: Path, **more: Any) -> tuple[int, dict[str, Any]]:
    """A sweep against a mock engine in a process of its own, so that neither delays the other."""
    server = await serve(engine.handle, "127.0.0.1", 0)
    path = out / "spec.json"
    path.write_text(json.dumps(spec(server.port, **more).to_json()))
    import sys  # noqa: PLC0415

    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "dsctl.bench", str(path), "--out", str(out), stdout=asyncio.subprocess.PIPE
    )
    await process.communicate()
    await server.close()
    await asyncio.sleep(0.02)
    return process.returncode or 0, json.loads((out / "result.json").read_text())


def test_the_clients_own_error_is_small(tmp_path: Path) -> None:
    status, result = run(sweep(MockEngine(), tmp_path))
    (step,) = result["steps"]
    assert status == 0
    assert step["errors"] == {}
    assert step["ttft_ms"]["p50"] == pytest.approx(MockEngine.first_s * 1000, abs=4)
    assert step["itl_ms"]["p50"] == pytest.approx(MockEngine.gap_s * 1000, abs=3)
    assert step["prompt_tokens"] == 200
    assert step["reuse"]["ideal"] == pytest.approx(0.8, abs=0.02)
    assert len((tmp_path / "samples.jsonl").read_text().splitlines()) >= step["requests"]
    assert (tmp_path / "ttft.svg").exists()


def test_a_step_shares_its_prefix_and_no_other_step_does(tmp_path: Path) -> None:
    engine = MockEngine()
    run(sweep(engine, tmp_path, rates=(20.0, 20.0), duration_s=0.5))
    systems = [body["messages"][0]["content"] for body in engine.bodies]
    users = [body["messages"][1]["content"] for body in engine.bodies]
    assert len(set(systems)) == 2
    one, two = sorted(set(systems))
    assert one.split()[:3] != two.split()[:3], "the very first words must differ"
    assert len(set(users)) == len(users)
    assert all(body["stream"] and body["ignore_eos"] for body in engine.bodies)


def test_truncated_answers_are_errors(tmp_path: Path) -> None:
    _, result = run(sweep(MockEngine("truncate"), tmp_path))
    (step,) = result["steps"]
    assert step["errors"].get("closed", 0) > 5
    assert step["ok"] > 5


def test_a_dead_target_is_said_and_has_its_status(tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    assert run_sweep(spec(1), tmp_path) == 7
    said = [json.loads(line) for line in capfdbinary.readouterr().out.splitlines()]
    assert said[0]["event"] == "bench.failed"
    assert said[-1]["status"] == "failed"


@pytest.mark.parametrize("shared", [0.0, 0.5, 0.9])
def test_prompts_have_their_length_by_the_served_tokenizer(shared: float) -> None:
    async def go() -> None:
        server = await serve(MockEngine().handle, "127.0.0.1", 0)
        pool = Pool()
        tokenizer = Tokenizer(pool, f"http://127.0.0.1:{server.port}", "lab")
        bank = await measure_words(tokenizer)
        prompts = await chat_prompts(tokenizer, bank, Chat(500, shared, 4), "lab", 5, "salt")
        assert prompts.prompt_tokens == 500
        assert prompts.shared_tokens / 500 == pytest.approx(shared, abs=0.02)
        for body in prompts.bodies:
            assert abs(len(chat_tokens(json.loads(body)["messages"])) - 500) <= 2
        pool.close()
        await server.close()
        await asyncio.sleep(0.02)

    run(go())


@pytest.mark.parametrize(
    "change",
    [
        {"schema": "x"},
        {"rates": []},
        {"rates": [0]},
        {"arrivals": "often"},
        {"nope": 1},
        {"workload": {}},
        {"timeout_s": 0},
    ],
)
def test_a_wrong_specification_is_refused(change: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "spec.json"
    path.write_text(json.dumps({**spec(1).to_json(), **change}))
    with pytest.raises(ValueError, match=r"\w"):
        load_spec(path)
