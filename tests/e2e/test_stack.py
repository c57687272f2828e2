"""The real stack: what `dsctl up local-1p2d` gives, by the official client and by the engines' own counters."""

from __future__ import annotations

import json
import random
import subprocess
import time
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Self

import pytest
from openai import OpenAI

from dsctl.box.verify import sources
from tests.e2e.conftest import Stack
from tests.profiles import SHIPPED, shipped

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(1500)]

GREEDY: dict[str, Any] = {"temperature": 0, "max_tokens": 24}


ANSWER, TIE = 16, 0.07


def client(stack: Stack) -> OpenAI:
    return OpenAI(base_url=stack.endpoint + "/v1", api_key="none", timeout=60, max_retries=0)


def complete(url: str, prompt: list[int], **more: Any) -> dict[str, Any]:
    body = {"model": "lab", "prompt": prompt, **GREEDY, "ignore_eos": True, "return_token_ids": True, **more}
    request = urllib.request.Request(
        url + "/v1/completions", json.dumps(body).encode(), {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=120) as reply:
        return json.load(reply)


def tokens(seed: int, length: int) -> list[int]:
    rng = random.Random(seed)
    return [rng.randint(16, 1000) for _ in range(length)]


def test_up_prints_what_a_client_needs(stack: Stack) -> None:
    up = stack.up
    assert up["schema"] == "dsctl.up/1"
    assert up["endpoint"] == "http://127.0.0.1:8000"
    assert up["model"] == "lab"
    assert set(up["roles"]) == {"prefill0", "decode0", "decode1"}
    assert up["simulated"] is False
    assert Path(up["runbook"], "README.md").exists()


def test_the_official_client_streams_a_chat(stack: Stack) -> None:
    stream = client(stack).chat.completions.create(
        model="lab",
        messages=[{"role": "user", "content": "tell me something about kori and tabamu"}],
        stream=True,
        stream_options={"include_usage": True},
        extra_body={"ignore_eos": True},
        **GREEDY,
    )
    chunks = list(stream)
    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
    assert len(text) > 10
    assert chunks[-1].usage is not None
    assert chunks[-1].usage.completion_tokens == 24
    assert next(c for c in reversed(chunks) if c.choices).choices[0].finish_reason == "length"


def test_decoders_retrieve_a_fresh_prefix_instead_of_computing_it(stack: Stack) -> None:
    decoders = [stack.up["roles"][role] for role in ("decode0", "decode1")]
    before = [sources(url) for url in decoders]
    seed = time.time_ns()
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda n: complete(stack.endpoint, tokens(seed + n, 4097)), range(4)))
    used = [
        {key: after[key] - b.get(key, 0) for key in after}
        for after, b in zip([sources(url) for url in decoders], before, strict=True)
    ]
    assert all(sum(u.values()) > 0 for u in used), f"a decoder was never used: {used}"
    for u in used:
        assert u["external_kv_transfer"] / sum(u.values()) >= 0.9, u


def test_answers_equal_those_of_one_plain_engine(stack: Stack, tmp_path: Path) -> None:
    """Token for token, for prompts around the chunk size and far beyond it, cold and from the shared store."""
    lengths = [1, 2, 17, 100, 255, 256, 257, 300, 511, 512, 513, 700, 1000, 1024, 1025, 1500, 2047, 2048, 3000, 4097]
    with PlainEngine(stack.slots(), tmp_path) as plain:
        pairs = [clear_prompt(plain.url, length) for length in lengths]
    prompts, expected = [prompt for prompt, _ in pairs], [answer for _, answer in pairs]
    assert len({tuple(answer) for answer in expected}) == len(prompts), (
        "the answers are not varied; equality proves nothing"
    )
    for _ in ("cold", "from the store"):
        answers = [complete(stack.endpoint, prompt, max_tokens=ANSWER)["choices"][0]["token_ids"] for prompt in prompts]
        wrong = [length for length, a, e in zip(lengths, answers, expected, strict=True) if a != e]
        assert not wrong, f"prompts of these lengths differ: {wrong}"


def clear_prompt(url: str, length: int) -> tuple[list[int], list[int]]:
    """A prompt of this length, and the plain engine's answer, none of whose tokens is decided by rounding.

    Logits are bf16 numbers of magnitude 8 to 16, so neighbours are 0.0625 apart: two tokens nearer than that are a tie,
    which another order of additions may decide otherwise on any engine.
    """
    for attempt in range(40):
        prompt = tokens(length * 1000 + attempt, length)
        choice = complete(url, prompt, logprobs=2, max_tokens=ANSWER)["choices"][0]
        tops = [sorted(top.values(), reverse=True) for top in choice["logprobs"]["top_logprobs"]]
        if min(top[0] - top[1] if len(top) > 1 else 1.0 for top in tops) > TIE:
            return prompt, choice["token_ids"]
    raise AssertionError(f"no clear prompt of {length} tokens found")


class PlainEngine:
    """One vLLM without LMCache, started by hand on a port of its own."""

    url = "http://127.0.0.1:8190"

    def __init__(self, slots: dict[str, str], folder: Path) -> None:
        self._command = [
            f"{slots['engine.dir']}/bin/python", "-m", "vllm.entrypoints.openai.api_server",
            "--model", slots["model.dir"], "--served-model-name", "lab", "--host", "127.0.0.1", "--port", "8190",
            "--enforce-eager", "--max-model-len", "8192", "--max-num-batched-tokens", "2048",
            "--distributed-executor-backend", "uni", "--kv-cache-memory-bytes", "128M",
        ]  # fmt: skip
        self._env = {
            "PATH": "/usr/bin:/bin", "HOME": str(folder), "TMPDIR": "/tmp", "OMP_NUM_THREADS": "1",
            "HF_HUB_OFFLINE": "1", "VLLM_NO_USAGE_STATS": "1", "VLLM_CPU_OMP_THREADS_BIND": "nobind",
        }  # fmt: skip
        self._log = folder / "plain.log"

    def __enter__(self) -> Self:
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(self._command, env=self._env, stdout=log, stderr=log)
        deadline = time.monotonic() + 180
        while time.monotonic() < deadline:
            try:
                with urllib.request.urlopen(self.url + "/health", timeout=2):
                    return self
            except OSError:
                assert self._process.poll() is None, self._log.read_text()[-3000:]
                time.sleep(0.3)
        self.__exit__()
        raise AssertionError(f"the plain engine is not ready: {self._log.read_text()[-3000:]}")

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        try:
            self._process.wait(20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait(20)


def test_ps_and_logs_tell_the_truth(stack: Stack) -> None:
    (document,) = stack.cli.json_lines("ps")
    (run,) = document["runs"]
    assert run["health"] == "running"
    assert set(run["programs"]) == {"lmcache", "prefill0", "decode0", "decode1", "gateway"}
    log = stack.cli("logs", "local-1p2d", "decode1", "--tail", "0")
    assert log.returncode == 0
    assert "LMCacheMPConnector" in log.stdout


def test_a_second_up_of_the_live_name_is_refused(stack: Stack) -> None:
    done = stack.cli("up", "local-1p2d", "--yes")
    assert done.returncode == 2
    assert "already up" in done.stderr
    assert "dsctl teardown local-1p2d" in done.stderr


def test_an_up_under_another_name_finds_its_ports_taken_and_leaves_nothing(stack: Stack) -> None:
    done = stack.cli("up", "local-1p2d", "--yes", "--name", "other")
    assert done.returncode == 4
    assert "port 8000 (gateway) is in use" in done.stderr
    assert "--set kv.port=" in done.stderr
    (document,) = stack.cli.json_lines("ps")
    assert [run["name"] for run in document["runs"]] == ["local-1p2d"]
    assert document["runs"][0]["health"] == "running"


def test_bench_measures_and_an_slo_decides(stack: Stack) -> None:
    words = ("bench", "--rate", "2", "--duration", "8s", "--warmup", "2s")
    lines = stack.cli.json_lines(*words, "--slo", "ttft_p95=30s")
    result = lines[-1]
    (step,) = result["steps"]
    assert result["simulated"] is False
    assert step["errors"] == {}
    assert step["ok"] > 0
    assert step["ttft_ms"]["p50"] > 0
    assert step["reuse"]["measured"] > 0.5
    assert Path(result["folder"], "ttft.svg").read_text().startswith("<?xml")
    missed = stack.cli(*words, "--slo", "ttft_p95=1ms")
    assert missed.returncode == 8
    assert "ttft_p95" in missed.stderr


def test_every_command_line_is_accepted_by_the_real_parsers(stack: Stack) -> None:
    """All shipped profiles, in one process of the engine environment, without starting anything."""
    from dsctl.flow.compile import compile_plan  # noqa: PLC0415

    argvs = [
        [program.kind, *program.argv]
        for name in SHIPPED
        if not shipped(name).simulated
        for program in compile_plan(shipped(name)).programs
        if program.kind in ("engine", "store")
    ]
    script = Path(__file__).parent / "parse_commands.py"
    python = f"{stack.slots()['engine.dir']}/bin/python"
    done = subprocess.run(
        [python, str(script)], input=json.dumps(argvs), capture_output=True, text=True, timeout=180, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert json.loads(done.stdout.splitlines()[-1]) == {"parsed": len(argvs)}


def test_a_typing_mistake_would_be_caught(stack: Stack) -> None:
    argv = ["engine", "python", "-m", "vllm.entrypoints.openai.api_server", "--modle", "x"]
    script = Path(__file__).parent / "parse_commands.py"
    python = f"{stack.slots()['engine.dir']}/bin/python"
    done = subprocess.run(
        [python, str(script)], input=json.dumps([argv]), capture_output=True, text=True, timeout=180, check=False
    )
    assert done.returncode == 2
    assert "--modle" in done.stderr
