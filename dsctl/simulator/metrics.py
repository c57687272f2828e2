"""Knows vLLM's metric names and how Prometheus reads them. Every sample carries ``model_name`` and ``engine``."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Mapping

_BUCKETS = (0.001, 0.005, 0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24)
COUNTERS = (
    "prompt_tokens_total",
    "generation_tokens_total",
    "prefix_cache_queries_total",
    "prefix_cache_hits_total",
    "external_prefix_cache_queries_total",
    "external_prefix_cache_hits_total",
    "num_preemptions_total",
)
SOURCES = ("local_compute", "local_cache_hit", "external_kv_transfer")
HISTOGRAMS = ("time_to_first_token_seconds", "inter_token_latency_seconds", "e2e_request_latency_seconds")


class EngineMetrics:
    def __init__(self, model: str) -> None:
        self._labels = f'engine="0",model_name="{model}"'
        self._counts: dict[str, float] = dict.fromkeys(COUNTERS, 0.0)
        self._sources: dict[str, float] = dict.fromkeys(SOURCES, 0.0)
        self._finished: dict[str, float] = defaultdict(float, {"stop": 0.0, "length": 0.0})
        self._times = {name: ([0] * (len(_BUCKETS) + 1), [0.0]) for name in HISTOGRAMS}

    def count(self, name: str, by: float = 1) -> None:
        self._counts[name] += by

    def prompt(self, *, computed: int, local: int, external: int) -> None:
        """The three parts of one prompt; together they are the prompt."""
        for source, tokens in zip(SOURCES, (computed, local, external), strict=True):
            self._sources[source] += tokens
        self._counts["prompt_tokens_total"] += computed + local + external
        self._counts["prefix_cache_queries_total"] += computed + local + external
        self._counts["prefix_cache_hits_total"] += local
        self._counts["external_prefix_cache_queries_total"] += computed + external
        self._counts["external_prefix_cache_hits_total"] += external

    def finished(self, reason: str) -> None:
        self._finished[reason] += 1

    def time(self, name: str, seconds: float) -> None:
        counts, total = self._times[name]
        counts[bisect_left(_BUCKETS, seconds)] += 1
        total[0] += seconds

    def text(self, gauges: Mapping[str, float]) -> str:
        lines: list[str] = []
        for name, value in self._counts.items():
            lines += [f"# TYPE vllm:{name.removesuffix('_total')} counter", f"vllm:{name}{{{self._labels}}} {value:g}"]
        lines.append("# TYPE vllm:prompt_tokens_by_source counter")
        lines += [
            f'vllm:prompt_tokens_by_source_total{{{self._labels},source="{source}"}} {value:g}'
            for source, value in self._sources.items()
        ]
        lines.append("# TYPE vllm:request_success counter")
        lines += [
            f'vllm:request_success_total{{{self._labels},finished_reason="{reason}"}} {value:g}'
            for reason, value in self._finished.items()
        ]
        for name, value in gauges.items():
            lines += [f"# TYPE vllm:{name} gauge", f"vllm:{name}{{{self._labels}}} {value:g}"]
        for name, (counts, total) in self._times.items():
            lines += [f"# TYPE vllm:{name} histogram", *self._histogram(name, counts, total[0])]
        return "\n".join(lines) + "\n"

    def _histogram(self, name: str, counts: list[int], total: float) -> list[str]:
        lines: list[str] = []
        running = 0
        for bound, count in zip((*map(str, _BUCKETS), "+Inf"), counts, strict=True):
            running += count
            lines.append(f'vllm:{name}_bucket{{{self._labels},le="{bound}"}} {running}')
        return [
            *lines,
            f"vllm:{name}_sum{{{self._labels}}} {total:g}",
            f"vllm:{name}_count{{{self._labels}}} {running}",
        ]
