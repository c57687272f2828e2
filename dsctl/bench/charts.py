"""Knows the three pictures of a sweep: asked against delivered, TTFT, reuse. SVG without outside requests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pygal
from pygal.style import Style

# The first lab's own colours: gold asked, blue served; green typical, red tail.
_ASKED_SERVED = ("#b8860b", "#1f5fbf")
_TYPICAL_TAIL = ("#2e8b57", "#c0392b", "#777777", "#aaaaaa")
PRODUCTION_MS = (2000.0, 3500.0)
"""The first lab's production lines: TTFT of about 2 s typical, 3.5 s tail."""
_NEAR = 5.0


def write_charts(steps: Sequence[Mapping[str, Any]], folder: Path, *, simulated: bool) -> None:
    label = " (SIMULATED)" if simulated else ""
    rates = [f"{step['rate']:g}" for step in steps]
    asked = _chart(f"Asked against delivered, req/s{label}", rates, _ASKED_SERVED)
    asked.add("asked", [step["rate"] for step in steps])
    asked.add("delivered", [round(step["delivered_rate"], 3) for step in steps])
    ttft = _ttft(steps, rates, label)
    reuse = _chart(f"Prompt tokens reused, %{label}", rates, _ASKED_SERVED[::-1], range=(0, 100))
    reuse.add("measured", [_percent(step["reuse"]["measured"]) for step in steps])
    reuse.add("ideal of the workload", [_percent(step["reuse"]["ideal"]) for step in steps])
    for name, chart in (("asked-vs-delivered", asked), ("ttft", ttft), ("reuse", reuse)):
        (folder / f"{name}.svg").write_bytes(chart.render())


def _ttft(steps: Sequence[Mapping[str, Any]], rates: list[str], label: str) -> Any:
    typical = [step["ttft_ms"]["p50"] for step in steps]
    tail = [step["ttft_ms"]["p95"] for step in steps]
    highest = max((value for value in (*typical, *tail) if value is not None), default=0.0)
    lines = [line for line in PRODUCTION_MS if highest * _NEAR >= line]
    far = "" if lines else " (2 s and 3.5 s: off the chart)"
    chart = _chart(f"Time to first token, ms{label}{far}", rates, _TYPICAL_TAIL)
    chart.add("P50", typical)
    chart.add("P95", tail)
    for line in lines:
        chart.add(
            f"production {line / 1000:g} s", [line] * len(steps), stroke_style={"dasharray": "6, 6"}, show_dots=False
        )
    return chart


def _chart(title: str, rates: list[str], colours: tuple[str, ...], **more: Any) -> Any:
    chart: Any = pygal.Line(
        title=title,
        x_title="asked req/s",
        style=_style(colours),
        js=(),
        width=800,
        height=420,
        legend_at_bottom=True,
        disable_xml_declaration=False,
        include_x_axis=True,
        **more,
    )
    chart.x_labels = rates
    return chart


def _style(colours: tuple[str, ...]) -> Style:
    return Style(
        background="white",
        plot_background="white",
        colors=colours,
        font_family="sans-serif",
        title_font_size=16,
        guide_stroke_color="#dddddd",
        major_guide_stroke_color="#dddddd",
        guide_stroke_dasharray="0",
        major_guide_stroke_dasharray="0",
    )


def _percent(part: float | None) -> float | None:
    return None if part is None else round(part * 100, 2)
