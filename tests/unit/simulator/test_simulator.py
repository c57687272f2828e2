from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openai import AsyncOpenAI, BadRequestError, NotFoundError

from dsctl.bench.scrape import PromptTokens, prompt_tokens
from dsctl.http1.client import Pool
from dsctl.http1.server import serve
from dsctl.simulator.api import Api
from dsctl.simulator.cache import BlockCache
from dsctl.simulator.engine import SimEngine, Speed
from dsctl.simulator.store import RemoteStore, StoreApi
from dsctl.simulator.tokens import answer_words, block_hashes, tokenize
from tests.loop import run

FAST = Speed(prefill=1e7, itl_s=0.001, fetch=1e9)


class MemoryStore:
    def __init__(self) -> None:
        self.chunks = BlockCache(10_000)

    async def found(self, hashes: Any) -> int:
        return self.chunks.found(hashes)

    async def add(self, hashes: Any) -> None:
        self.chunks.add(hashes)


def engine(store: Any = None, *, blocks: int = 4096, slots: int = 16, speed: Speed = FAST) -> SimEngine:
    return SimEngine("lab", store, speed, block=16, chunk=64, blocks=blocks, slots=slots, seed=0)


async def ask(sim: SimEngine, prompt: list[int], count: int = 2) -> str:
    return "".join([word async for word in sim.generate(prompt, count)])


@given(st.lists(st.lists(st.integers(16, 40), min_size=1, max_size=300), min_size=1, max_size=6), st.integers(1, 20))
def test_the_sources_of_a_prompt_add_up_to_it(prompts: list[list[int]], blocks: int) -> None:
    async def go() -> PromptTokens:
        sim = engine(MemoryStore(), blocks=blocks)
        for prompt in prompts:
            await ask(sim, prompt, 1)
        return prompt_tokens(sim.metrics.text({}))

    used = run(go())
    assert used.computed + used.local + used.external == sum(len(prompt) for prompt in prompts)
    assert used.computed >= len(prompts), "the last token of each prompt is always computed"


def test_a_second_engine_retrieves_what_the_first_stored_in_whole_chunks() -> None:
    async def go() -> tuple[PromptTokens, str, str]:
        store = MemoryStore()
        first, second = engine(store), engine(store)
        prompt = list(range(16, 16 + 64 * 3 + 1))
        one, two = await ask(first, prompt), await ask(second, prompt)
        return prompt_tokens(second.metrics.text({})), one, two

    used, one, two = run(go())
    assert used == PromptTokens(computed=1, local=0, external=192)
    assert one == two


def test_a_full_cache_forgets_the_oldest() -> None:
    cache = BlockCache(2)
    cache.add(["a", "b"])
    assert cache.found(["a"]) == 1
    cache.add(["c"])
    assert (cache.found(["b"]), cache.found(["a"]), cache.found(["c"])) == (0, 1, 1)


@given(st.text(max_size=200), st.text(max_size=50))
def test_tokens_of_a_text_do_not_depend_on_what_follows_a_space(text: str, more: str) -> None:
    assert tokenize(text) == tokenize(text)
    assert block_hashes(tokenize(text), 4) == block_hashes(tokenize(text), 4)
    assert answer_words(tokenize(text + more), 3, 0) == answer_words(tokenize(text + more), 3, 0)


def test_requests_beyond_the_slots_wait_and_an_abandoned_one_frees_its_slot() -> None:
    async def go() -> None:
        sim = engine(slots=1, speed=Speed(prefill=1e7, itl_s=0.05))
        first = asyncio.ensure_future(ask(sim, [16] * 20, 100))
        await asyncio.sleep(0.02)
        second = asyncio.ensure_future(ask(sim, [17] * 20, 1))
        await asyncio.sleep(0.02)
        assert (sim.running, sim.waiting) == (1, 1)
        first.cancel()
        await asyncio.gather(first, return_exceptions=True)
        await asyncio.wait_for(second, 2)
        assert (sim.running, sim.waiting) == (0, 0)

    run(go())


def test_without_its_store_an_engine_recomputes_and_does_not_hang() -> None:
    async def go() -> PromptTokens:
        sim = engine(RemoteStore("http://127.0.0.1:1"))
        await ask(sim, list(range(16, 200)))
        return prompt_tokens(sim.metrics.text({}))

    assert run(go(), limit_s=5) == PromptTokens(computed=184)


@asynccontextmanager
async def served(sim: SimEngine) -> AsyncGenerator[str]:
    server = await serve(Api(sim, "lab", 1000).handle, "127.0.0.1", 0)
    yield f"http://127.0.0.1:{server.port}"
    await server.close()
    await asyncio.sleep(0.02)


def test_the_official_client_gets_what_vllm_would_send() -> None:
    async def go() -> None:
        async with served(engine()) as url, AsyncOpenAI(base_url=url + "/v1", api_key="x", max_retries=0) as client:
            asked: Any = {"model": "lab", "messages": [{"role": "user", "content": "hello"}], "max_tokens": 5}
            whole = await client.chat.completions.create(**asked)
            assert whole.usage is not None
            assert whole.usage.completion_tokens == 5
            assert whole.system_fingerprint == "simulated"
            assert whole.choices[0].finish_reason == "length"
            stream = await client.chat.completions.create(**asked, stream=True, stream_options={"include_usage": True})
            chunks = [chunk async for chunk in stream]
            text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
            assert text == whole.choices[0].message.content
            assert chunks[0].choices[0].delta.role == "assistant"
            assert chunks[-1].choices == []
            assert chunks[-1].usage is not None
            assert chunks[-1].usage.completion_tokens == 5
            stop = text.split()[2]
            stopped = await client.chat.completions.create(**asked, stop=[stop])
            assert stopped.choices[0].finish_reason == "stop"
            assert stop not in (stopped.choices[0].message.content or "")
            plain = await client.completions.create(model="lab", prompt=[20, 21, 22], max_tokens=3)
            assert plain.usage is not None
            assert plain.usage.prompt_tokens == 3
            with pytest.raises(NotFoundError):
                await client.chat.completions.create(**{**asked, "model": "other"})
            with pytest.raises(BadRequestError):
                await client.completions.create(model="lab", prompt="x", max_tokens=5000)
        await asyncio.sleep(0.05)

    run(go())


def test_every_answer_says_that_it_is_simulated() -> None:
    async def go() -> None:
        async with served(engine()) as url:
            pool = Pool()
            for method, path, body in (
                ("GET", "/health", b""),
                ("GET", "/version", b""),
                ("GET", "/v1/models", b""),
                ("POST", "/tokenize", b'{"prompt": "a b c"}'),
                ("GET", "/nothing", b""),
                ("POST", "/v1/completions", b"not json"),
            ):
                exchange = await pool.request(method, url + path, {}, body)
                await exchange.read()
                assert exchange.headers["x-dsctl-simulated"] == "1", path
            version = await pool.request("GET", url + "/version", {})
            assert json.loads(await version.read()) == {"version": "0.32.0+simulated"}
            pool.close()

    run(go())


def test_the_store_answers_like_lmcache_where_dsctl_looks() -> None:
    async def go() -> None:
        server = await serve(StoreApi(64, 6400).handle, "127.0.0.1", 0)
        url = f"http://127.0.0.1:{server.port}"
        store, pool = RemoteStore(url), Pool()
        assert await store.found(["a", "b"]) == 0
        await store.add(["a"])
        assert await store.found(["a", "b"]) == 1
        healthy = await pool.request("GET", url + "/healthcheck", {})
        await healthy.read()
        assert healthy.status == 200
        page = await (await pool.request("GET", url + "/metrics", {})).read()
        assert b"lmcache_mp_lookup_requested_tokens_total" in page
        pool.close()
        store._pool.close()
        await server.close()
        await asyncio.sleep(0.02)

    run(go())
