"""Knows what time is to dsctl, so that tests never wait for it."""

from __future__ import annotations

from typing import Protocol


class Clock(Protocol):
    def unix(self) -> float:
        """Seconds since 1970, UTC."""
        ...

    def monotonic(self) -> float:
        """Seconds that never go back."""
        ...

    def sleep(self, seconds: float) -> None: ...
