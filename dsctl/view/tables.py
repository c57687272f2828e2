"""Plain data -> columns and rows, and rows -> aligned text that fits a terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

SWEEP_COLUMNS = (
    "asked\n/s", "sent\n/s", "done\n/s", "TTFT\nP50", "ms\nP95", "\nP99", "ITL\nP50", "ms\nP99",
    "reuse\nreal", "%\nideal", "\nerr", "\nvalid",
)  # fmt: skip
_NARROWEST = 10
"""No column that says something is cut below this."""


def text_table(
    columns: Sequence[str], rows: Sequence[Sequence[str]], *, styled: bool = False, width: int | None = None
) -> str:
    """Columns two spaces apart, or one where that makes them fit; numbers to the right, the last column never padded.

    A column's name may have several lines. ``width``: of the terminal; the widest columns are cut to fit into it.
    Without it nothing is cut, so that a pipe gets every word.
    """
    names = [name.split("\n") for name in columns]
    depth = max(len(lines) for lines in names)
    head = [[lines[at] if at < len(lines) else "" for lines in names] for at in range(depth)]
    widths = [max(len(row[index]) for row in (*head, *rows)) for index in range(len(columns))]
    gap = 1 if width is not None and sum(widths) + 2 * (len(widths) - 1) > width else 2
    if width is not None:
        widths = _fit(widths, width - gap * (len(widths) - 1))
    right = [bool(rows) and all(_is_number(row[index]) for row in rows) for index in range(len(columns))]

    def line(cells: Sequence[str]) -> str:
        padded = (
            _cut(cell, size).rjust(size) if number else _cut(cell, size).ljust(size)
            for cell, size, number in zip(cells, widths, right, strict=True)
        )
        return (" " * gap).join(padded).rstrip()

    heads = [f"\x1b[1m{line(cells)}\x1b[0m" if styled else line(cells) for cells in head]
    return "\n".join((*heads, *(line(row) for row in rows)))


def sweep_rows(steps: Sequence[Mapping[str, Any]]) -> list[list[str]]:
    """One row a rate, for ``SWEEP_COLUMNS``."""
    return [_sweep_row(step) for step in steps]


def _sweep_row(step: Mapping[str, Any]) -> list[str]:
    ttft, itl, reuse = step["ttft_ms"], step["itl_ms"], step["reuse"]
    return [
        f"{step['rate']:g}",
        f"{step['sent_rate']:.2f}",
        f"{step['delivered_rate']:.2f}",
        *(_short(ttft.get(key)) for key in ("p50", "p95", "p99")),
        *(_short(itl.get(key)) for key in ("p50", "p99")),
        _short(reuse["measured"], 100),
        _short(reuse["ideal"], 100),
        str(sum(step["errors"].values())),
        "yes" if step["valid"] else "NO",
    ]


def _short(value: float | None, scale: float = 1) -> str:
    """One decimal below a hundred, none above."""
    if value is None:
        return "-"
    scaled = value * scale
    return f"{scaled:.1f}" if scaled < 100 else f"{scaled:.0f}"


def _fit(widths: Sequence[int], room: int) -> list[int]:
    """Take from the widest column, again and again; stop when every column is as narrow as it may be."""
    fitted = list(widths)
    while sum(fitted) > room and max(fitted) > _NARROWEST:
        fitted[fitted.index(max(fitted))] -= 1
    return fitted


def _cut(cell: str, size: int) -> str:
    return cell if len(cell) <= size else f"{cell[: size - 2]}.."


def _is_number(cell: str) -> bool:
    return cell.removeprefix("$").replace(".", "", 1).isdigit() or cell == "-"
