"""Runs a sweep: for each rate prompts, warm-up, steady window and drain; says on stdout, in JSON lines, how it goes."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import sys
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex
from time import perf_counter
from typing import Any

import orjson
import uvloop

from dsctl.bench.arrivals import schedule
from dsctl.bench.client import Gun, Shot
from dsctl.bench.prompts import Prompts, TokenizeFailed, Tokenizer, WordBank, chat_prompts, measure_words
from dsctl.bench.samples import Sample, sample_of
from dsctl.bench.scrape import by_role, scrape
from dsctl.bench.spec import Spec
from dsctl.bench.summary import StepFacts, summarize
from dsctl.http1.client import Pool

_PROGRESS_S = 0.5
_LEAD_S = 0.2
_OPEN_PER_RATE = 4
DEAD_TARGET = 7


class Interrupted(Exception):
    """A signal came; what was measured so far is kept."""


def say(event: str, **data: Any) -> None:
    # The key "event" comes first: that is how the reader tells these lines from other output.
    sys.stdout.buffer.write(orjson.dumps({"event": event, **data}) + b"\n")
    sys.stdout.buffer.flush()


def run(spec: Spec, out: Path) -> int:
    """Exit status 0, 7 when the target is dead, 130 or 143 after a signal. Files are written in every case."""
    out.mkdir(parents=True, exist_ok=True)
    sweep = Sweep(spec, out)
    status = uvloop.run(sweep.to_the_end())
    sweep.write(status)
    return status


@dataclass(slots=True)
class Step:
    """A step while it runs. ``start``: perf_counter of its first moment."""

    rate: float
    start: float = 0.0
    sent: int = 0
    failed: int = 0


class Sweep:
    def __init__(self, spec: Spec, out: Path) -> None:
        self._spec, self._out = spec, out
        self._pool = Pool()
        self._tokenizer = Tokenizer(self._pool, spec.tokenize_url, spec.model)
        self._nonce = token_hex(6)
        self._stop: asyncio.Future[int] | None = None
        self.scheduling = prefer_this_process()
        self.summaries: list[dict[str, Any]] = []

    async def to_the_end(self) -> int:
        loop = asyncio.get_running_loop()
        self._stop = loop.create_future()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._interrupt, number)
        (self._out / "samples.jsonl").write_bytes(b"")
        try:
            bank = await self._until_stopped(measure_words(self._tokenizer))
            for number, rate in enumerate(self._spec.rates):
                summary = await self._step(number, rate, bank)
                self.summaries.append(summary)
                say("bench.step", **summary)
        except (TokenizeFailed, OSError) as error:
            say("bench.failed", message=str(error), hint="is the run up? dsctl ps")
            return DEAD_TARGET
        except Interrupted:
            return 128 + self._stop.result()
        finally:
            self._pool.close()
        return 0

    def _interrupt(self, number: int) -> None:
        if self._stop and not self._stop.done():
            self._stop.set_result(number)

    async def _until_stopped(self, work: Any) -> Any:
        """Wait for ``work``, or raise Interrupted when a signal comes first."""
        task = asyncio.ensure_future(work)
        stop = self._stop
        assert stop is not None
        await asyncio.wait({task, stop}, return_when=asyncio.FIRST_COMPLETED)
        if stop.done():
            task.cancel()
            raise Interrupted
        return task.result()

    async def _step(self, number: int, rate: float, bank: WordBank) -> dict[str, Any]:
        spec = self._spec
        window = (spec.warmup_s, spec.warmup_s + spec.duration_s)
        due = schedule(spec.arrivals, rate, window[1], spec.seed)
        say("bench.preparing", rate=rate, requests=len(due))
        salt = f"{self._nonce} {number} {spec.seed}"
        prompts: Prompts = await self._until_stopped(
            chat_prompts(self._tokenizer, bank, spec.workload, spec.model, len(due), salt)
        )
        before = await scrape(self._pool, spec.engines)
        samples = await self._shoot(rate, due, prompts)
        after = await scrape(self._pool, spec.engines)
        used = by_role(spec.engines, before, after)
        self._keep(rate, samples)
        facts = StepFacts(rate, window, prompts.prompt_tokens, prompts.shared_tokens, used, spec.simulated)
        return summarize(samples, facts)

    async def _shoot(self, rate: float, due: list[float], prompts: Prompts) -> list[Sample]:
        loop = asyncio.get_running_loop()
        step = Step(rate)
        shots: list[Shot] = []
        ended: list[Shot] = []
        all_ended = asyncio.Event()

        def on_end(shot: Shot) -> None:
            ended.append(shot)
            step.failed += bool(shot.failure) or shot.status != 200
            if len(ended) == len(due):
                all_ended.set()

        gun = Gun(self._spec.target, "/v1/chat/completions", self._spec.timeout_s, on_end)
        await gun.open(max(4, min(512, round(rate * _OPEN_PER_RATE))))
        encoded = [gun.encode(body) for body in prompts.bodies]
        gc.collect()
        gc.freeze()
        gc.disable()
        step.start = perf_counter() + _LEAD_S
        offset = loop.time() - perf_counter()

        def fire(index: int) -> None:
            shot = Shot(step.start + due[index])
            shots.append(shot)
            step.sent += 1
            gun.fire(shot, encoded[index])

        handles = [loop.call_at(step.start + at + offset, fire, index) for index, at in enumerate(due)]
        progress = loop.create_task(self._progress(step, ended, gun))
        try:
            if due:
                await self._until_stopped(all_ended.wait())
        finally:
            for handle in handles:
                handle.cancel()
            progress.cancel()
            gun.close()
            gc.enable()
            gc.unfreeze()
        return [sample_of(shot, step.start) for shot in shots]

    async def _progress(self, step: Step, ended: list[Shot], gun: Gun) -> None:
        while True:
            elapsed = round(perf_counter() - step.start, 1)
            say(
                "bench.progress",
                rate=step.rate,
                sent=step.sent,
                done=len(ended),
                errors=step.failed,
                inflight=len(gun.flying),
                t=elapsed,
            )
            await asyncio.sleep(_PROGRESS_S)

    def _keep(self, rate: float, samples: list[Sample]) -> None:
        with (self._out / "samples.jsonl").open("ab") as file:
            for sample in samples:
                file.write(orjson.dumps({"rate": rate, **sample.to_json()}) + b"\n")

    def write(self, status: int) -> None:
        """result.json and the charts, of what was measured."""
        result = {
            "schema": "dsctl.bench/1",
            "simulated": self._spec.simulated,
            "status": "done" if status == 0 else "failed" if status == DEAD_TARGET else "interrupted",
            "spec": self._spec.to_json(),
            "salt": self._nonce,
            "client": {
                "python": sys.version.split()[0],
                "uvloop": uvloop.__version__,
                "cpus": os.cpu_count(),
                "scheduling": self.scheduling,
            },
            "steps": self.summaries,
        }
        (self._out / "result.json").write_bytes(orjson.dumps(result, option=orjson.OPT_INDENT_2) + b"\n")
        if self.summaries:
            from dsctl.bench.charts import write_charts  # noqa: PLC0415  drawing is not needed while load runs

            write_charts(self.summaries, self._out, simulated=self._spec.simulated)
        say("bench.ended", status=result["status"], result=str(self._out / "result.json"))


def prefer_this_process() -> str:
    """Ask for real-time scheduling, else for a better priority: a late client would blame the server."""
    try:
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
    except (OSError, AttributeError):
        pass
    else:
        return "realtime"
    try:
        os.nice(-10)
    except OSError:
        return "normal"
    return "raised priority"
