"""Knows how people write sizes and durations: ``2GiB``, ``512M``, ``90s``, ``4h``; and how dsctl writes them back."""

from __future__ import annotations

import re

_SIZES = {
    "": 1, "B": 1,
    "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40,
    "KIB": 2**10, "MIB": 2**20, "GIB": 2**30, "TIB": 2**40,
    "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12,
}  # fmt: skip
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_SIZE = re.compile(r"^\s*(\d+(?:\.\d+)?)\s*([A-Za-z]*)\s*$")
_DURATION_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)")


def parse_size(text: str | int) -> int:
    """Bytes. ``2GiB`` and ``2G`` are 2·2³⁰, ``2GB`` is 2·10⁹, a bare number is bytes. Raises ValueError."""
    if isinstance(text, int):
        return text
    match = _SIZE.match(text)
    unit = match.group(2).upper() if match else ""
    if not match or unit not in _SIZES:
        raise ValueError(f"{text!r} is not a size; write it like 2GiB or 512MiB")
    return round(float(match.group(1)) * _SIZES[unit])


def parse_duration(text: str | float) -> float:
    """Seconds. ``1h30m``, ``90s``, ``250ms``; a bare number is seconds. Raises ValueError."""
    if isinstance(text, int | float):
        return float(text)
    compact = text.replace(" ", "")
    parts = _DURATION_PART.findall(compact)
    if not parts or "".join(n + u for n, u in parts) != compact:
        raise ValueError(f"{text!r} is not a duration; write it like 90s, 30m or 4h")
    return sum(float(number) * _SECONDS[unit] for number, unit in parts)


def show_size(size: float) -> str:
    """``2.0 GiB``; binary units, one decimal."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if abs(size) < 1024:
            return f"{size:.0f} B" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1024
    return f"{size:.1f} TiB"


def show_duration(seconds: float) -> str:
    """``0.42s``, ``31s``, ``4m08s``, ``2h05m``."""
    if seconds < 10:
        return f"{seconds:.2f}s" if seconds < 1 else f"{seconds:.1f}s"
    if seconds < 60:
        return f"{seconds:.0f}s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes}m{rest:02d}s"
    return f"{minutes // 60}h{minutes % 60:02d}m"
