"""Knows how secrets stay out of everything dsctl writes: a type that hides itself, and a scrubber for bytes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

_SHORTEST = 8
"""Shorter values would blank ordinary words; such a secret is refused by whoever reads it."""


@dataclass(frozen=True, slots=True)
class Secret:
    """A secret by its environment variable's name. Its value exists only where a host renders a command."""

    name: str

    def __str__(self) -> str:
        return f"${self.name}"


class Scrubber:
    """Replaces known secret values by ``[redacted]``, longest first so that no part of one survives."""

    def __init__(self, values: Iterable[str] = ()) -> None:
        self._values = sorted({v for v in values if len(v) >= _SHORTEST}, key=len, reverse=True)

    def text(self, text: str) -> str:
        for value in self._values:
            text = text.replace(value, "[redacted]")
        return text
