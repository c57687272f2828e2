"""Knows the engines' counters: how many prompt tokens each computed, found in its own cache, or retrieved.

Reuse is what the whole stack saved: 1 - (prompt tokens computed by all engines) / (prompt tokens of the requests). In a
disaggregated stack each prompt passes a prefiller and a decoder; a decoder that recomputes what the prefiller did makes
the figure fall, as it should, even below zero.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from dataclasses import dataclass

from dsctl.bench.spec import EngineTarget
from dsctl.http1.client import HttpError, Pool

SOURCES = {
    "local_compute": "computed",
    "local_cache_hit": "local",
    "external_kv_transfer": "external",
}
_LINE = re.compile(r"^([a-zA-Z_:][\w:]*)(?:\{(.*)\})?\s+(\S+)", re.MULTILINE)
_LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')
_METRIC = "vllm:prompt_tokens_by_source_total"


@dataclass(frozen=True, slots=True)
class PromptTokens:
    """Prompt tokens of one engine by where their KV came from."""

    computed: float = 0.0
    local: float = 0.0
    external: float = 0.0

    def __sub__(self, before: PromptTokens) -> PromptTokens:
        return PromptTokens(self.computed - before.computed, self.local - before.local, self.external - before.external)

    def __add__(self, other: PromptTokens) -> PromptTokens:
        return PromptTokens(self.computed + other.computed, self.local + other.local, self.external + other.external)

    def to_json(self) -> dict[str, float]:
        return {"computed": self.computed, "local": self.local, "external": self.external}


def parse_metrics(text: str) -> list[tuple[str, dict[str, str], float]]:
    """Samples of a Prometheus text page: name, labels, value."""
    samples: list[tuple[str, dict[str, str], float]] = []
    for name, labels, value in _LINE.findall(text):
        try:
            samples.append((name, dict(_LABEL.findall(labels)), float(value)))
        except ValueError:
            continue
    return samples


def prompt_tokens(text: str) -> PromptTokens:
    totals = dict.fromkeys(SOURCES.values(), 0.0)
    for name, labels, value in parse_metrics(text):
        if name == _METRIC and labels.get("source") in SOURCES:
            totals[SOURCES[labels["source"]]] += value
    return PromptTokens(**totals)


async def scrape(pool: Pool, engines: Mapping[str, EngineTarget]) -> dict[str, PromptTokens]:
    """All engines at once; one that does not answer is left out."""
    found = await asyncio.gather(*(_one(pool, engine.url) for engine in engines.values()))
    return {name: tokens for name, tokens in zip(engines, found, strict=True) if tokens is not None}


async def _one(pool: Pool, url: str) -> PromptTokens | None:
    try:
        async with asyncio.timeout(10):
            exchange = await pool.request("GET", url + "/metrics", {})
            return prompt_tokens((await exchange.read()).decode(errors="replace"))
    except (HttpError, TimeoutError):
        return None


def by_role(
    engines: Mapping[str, EngineTarget], before: Mapping[str, PromptTokens], after: Mapping[str, PromptTokens]
) -> dict[str, PromptTokens]:
    """What each role did between two looks. An engine that restarted in between is counted from its restart."""
    totals: dict[str, PromptTokens] = {}
    for name, engine in engines.items():
        if name not in after:
            continue
        delta = after[name] - before.get(name, PromptTokens())
        if min(delta.computed, delta.local, delta.external) < 0:
            delta = after[name]
        totals[engine.role] = totals.get(engine.role, PromptTokens()) + delta
    return totals
