"""Plain data -> columns and rows, and rows -> aligned text that fits a terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dsctl.view.words import ms, percent

SWEEP_COLUMNS = (
    "asked", "sent", "delivered", "TTFT P50", "P95", "P99", "ITL P50", "P99", "reused", "ideal", "errors", "valid",
)  # fmt: skip


def text_table(columns: Sequence[str], rows: Sequence[Sequence[str]], *, styled: bool = False) -> str:
    """Left-aligned columns two spaces apart; the last one is never padded."""
    widths = [max(len(row[index]) for row in (columns, *rows)) for index in range(len(columns))]

    def line(cells: Sequence[str]) -> str:
        return "  ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)).rstrip()

    head = line(columns)
    return "\n".join((f"\x1b[1m{head}\x1b[0m" if styled else head, *(line(row) for row in rows)))


def sweep_rows(steps: Sequence[Mapping[str, Any]]) -> list[list[str]]:
    """One row a rate, for ``SWEEP_COLUMNS``."""
    return [_sweep_row(step) for step in steps]


def _sweep_row(step: Mapping[str, Any]) -> list[str]:
    ttft, itl, reuse = step["ttft_ms"], step["itl_ms"], step["reuse"]
    return [
        f"{step['rate']:g}/s",
        f"{step['sent_rate']:.2f}",
        f"{step['delivered_rate']:.2f}",
        *(ms(ttft.get(key)) for key in ("p50", "p95", "p99")),
        *(ms(itl.get(key)) for key in ("p50", "p99")),
        percent(reuse["measured"]),
        percent(reuse["ideal"]),
        str(sum(step["errors"].values())),
        "yes" if step["valid"] else "NO",
    ]
