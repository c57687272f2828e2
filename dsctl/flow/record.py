"""Stamps events with time and hands them to every sink, in one order whichever thread they come from."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from dsctl.model.event import Event, Sink
from dsctl.ports.clock import Clock


class SystemClock:
    def unix(self) -> float:
        return time.time()

    def monotonic(self) -> float:
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)


class Recorder:
    """``emit`` is what the hallway passes around. ``opened`` is the run's start in seconds since 1970."""

    def __init__(self, sinks: Sequence[Sink], clock: Clock, opened: float) -> None:
        self._sinks = tuple(sinks)
        self._clock = clock
        self._zero = clock.monotonic() - (clock.unix() - opened)
        self._lock = threading.Lock()

    def emit(self, kind: str, **data: Any) -> None:
        with self._lock:
            event = Event(kind, utc(self._clock.unix()), round(self._clock.monotonic() - self._zero, 3), data)
            for sink in self._sinks:
                sink(event)


def utc(unix: float) -> str:
    """ISO 8601 with milliseconds and ``Z``."""
    return datetime.fromtimestamp(unix, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
