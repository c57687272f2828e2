"""Short texts that several views share: marks of a step's end, a line of a sweep, a program's line made harmless."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

_MARKS = {"started": "..", "ran": "ok", "unchanged": "==", "skipped": "--", "failed": "!!", "not-reached": "??"}
_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|.)?")
_CONTROLS = {code: None for code in (*range(0x20), *range(0x7F, 0xA0)) if chr(code) not in "\t\n"}
GONE = "no process, port or shared memory of the run is left"


def clean(line: str) -> str:
    """What a program printed, without what would move the cursor, colour the screen or rename the window.

    Of a line that was drawn over itself (progress bars) the last drawing.
    """
    drawn = [part for part in line.rstrip("\r\n").split("\r") if part.strip()] or [""]
    return _ESCAPES.sub("", drawn[-1]).translate(_CONTROLS)


def step_mark(status: str) -> str:
    """Two characters that align: .. (begun), ok, == (already so), -- (skipped), !! (failed)."""
    return _MARKS[status]


def bench_progress(data: Mapping[str, Any]) -> str:
    counts = f"sent {data['sent']}, done {data['done']}, in flight {data.get('inflight', 0)}, errors {data['errors']}"
    return f"{data['rate']:g} req/s: {counts}"


def bench_step(data: Mapping[str, Any]) -> str:
    """One rate's result in a line."""
    ttft = data["ttft_ms"]
    shown = f"TTFT P50 {ms(ttft.get('p50'))} P95 {ms(ttft.get('p95'))}"
    errors = sum(data["errors"].values())
    label = " (simulated)" if data.get("simulated") else ""
    return f"{data['rate']:g} req/s{label}: delivered {data['delivered_rate']:.2f}, {shown}, errors {errors}"


def ms(value: float | None) -> str:
    """Milliseconds below a second, seconds above, a dash for what was not measured."""
    if value is None:
        return "-"
    return f"{value:.0f} ms" if value < 1000 else f"{value / 1000:.2f} s"
