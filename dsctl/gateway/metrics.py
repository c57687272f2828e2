"""Knows the gateway's metrics and how Prometheus reads them. Names start with ``dsctl_gateway_``; times are seconds."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict

_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
_HELP = {
    "requests_total": "Finished requests by route and status.",
    "handoffs_total": "Requests whose prompt a prefiller computed before a decoder answered.",
    "prefill_fallbacks_total": "Requests sent to a decoder without a prefiller's work, by reason.",
    "decode_retries_total": "Requests tried on another decoder before any byte was sent, by reason.",
    "stream_failures_total": "Answers that broke after their first byte, by reason.",
    "client_aborts_total": "Requests whose client went away.",
}
_TIMES = {
    "time_to_first_token_seconds": "From the request read to the first byte of the answer's body.",
    "prefill_seconds": "Time a request spent at its prefiller.",
    "request_seconds": "From the request read to the end of the answer.",
}
Labels = tuple[tuple[str, str], ...]


class Metrics:
    def __init__(self) -> None:
        self._counts: dict[str, dict[Labels, float]] = {name: defaultdict(float) for name in _HELP}
        self._times = {name: _Histogram() for name in _TIMES}

    def count(self, name: str, **labels: str) -> None:
        self._counts[name][tuple(sorted(labels.items()))] += 1

    def time(self, name: str, seconds: float) -> None:
        self._times[name].add(seconds)

    def text(self, gauges: dict[str, dict[Labels, float]]) -> str:
        """Prometheus text format 0.0.4; ``gauges`` are read at the moment of asking."""
        lines: list[str] = []
        for name, help_text in _HELP.items():
            lines += _header(name, help_text, "counter")
            samples = self._counts[name] or {(): 0.0}
            lines += [_sample(name, labels, value) for labels, value in sorted(samples.items())]
        for name, samples in gauges.items():
            lines += _header(name, name.replace("_", " ") + ".", "gauge")
            lines += [_sample(name, labels, value) for labels, value in sorted(samples.items())]
        for name, help_text in _TIMES.items():
            lines += _header(name, help_text, "histogram")
            lines += self._times[name].lines(name)
        return "\n".join(lines) + "\n"


class _Histogram:
    def __init__(self) -> None:
        self._counts = [0] * (len(_BUCKETS) + 1)
        self._sum = 0.0

    def add(self, seconds: float) -> None:
        self._counts[bisect_left(_BUCKETS, seconds)] += 1
        self._sum += seconds

    def lines(self, name: str) -> list[str]:
        lines: list[str] = []
        total = 0
        for bound, count in zip((*_BUCKETS, float("inf")), self._counts, strict=True):
            total += count
            shown = "+Inf" if bound == float("inf") else f"{bound:g}"
            lines.append(_sample(f"{name}_bucket", (("le", shown),), total))
        return [*lines, _sample(f"{name}_sum", (), self._sum), _sample(f"{name}_count", (), total)]


def _header(name: str, help_text: str, kind: str) -> list[str]:
    return [f"# HELP dsctl_gateway_{name} {help_text}", f"# TYPE dsctl_gateway_{name} {kind}"]


def _sample(name: str, labels: Labels, value: float) -> str:
    inside = ",".join(f'{key}="{text}"' for key, text in labels)
    shown = str(int(value)) if float(value).is_integer() else repr(value)
    return f"dsctl_gateway_{name}{'{' + inside + '}' if inside else ''} {shown}"
