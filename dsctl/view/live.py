"""Event -> a terminal that moves: finished steps scroll up, running ones stand below with their time and last words."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import IO, TYPE_CHECKING, Any, Self

from dsctl.core.units import show_duration
from dsctl.model.event import Event
from dsctl.view.streams import Lasting, takes_unicode
from dsctl.view.words import GONE, bench_progress, bench_step, clean, step_mark

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.text import Text

QUICK_S = 0.5
_SHOWN = 8
"""Running steps shown at once; more are counted, so that the moving part stays smaller than a terminal."""
_COLOURS = {"started": "cyan", "ran": "green", "unchanged": "dim", "skipped": "dim", "failed": "red"}
_UNICODE = {"started": "•", "ran": "✓", "unchanged": "=", "skipped": "-", "failed": "✗"}


@dataclass(slots=True)
class _Running:
    title: str
    since: float
    last: str = ""


class Live:
    """A sink for events from any thread. Use as a context manager; the moving part is gone at its end.

    ``console`` and ``monotonic`` (seconds) stand in for the terminal and the time in tests.
    """

    def __init__(
        self,
        stream: IO[str],
        *,
        styled: bool,
        console: Console | None = None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        from rich.console import Console as RichConsole
        from rich.live import Live as RichLive

        # Without a colour system rich writes no style at all; its own no_color still sends bold, dim and italic.
        system = "auto" if styled else None
        self._console = console or RichConsole(file=Lasting(stream), color_system=system, highlight=False, emoji=False)
        self._unicode = takes_unicode(stream)
        self._marks = _UNICODE if self._unicode else {status: step_mark(status) for status in _COLOURS}
        self._monotonic = monotonic
        self._running: dict[str, _Running] = {}
        self._bench = ""
        self._lock = threading.Lock()
        self._live = RichLive(
            get_renderable=self._render,
            console=self._console,
            refresh_per_second=8,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._live.stop()

    def see(self, event: Event) -> None:
        with self._lock:
            line = self._take(event)
        if line is not None:
            self._console.print(line, soft_wrap=True)

    def _take(self, event: Event) -> Text | None:
        """Note what changed; a line for what is over."""
        data: Any = event.data
        match event.kind:
            case "step.started":
                self._running[data["step"]] = _Running(data["title"], self._monotonic())
            case "step.output":
                self._heard(data["step"], clean(data["line"]).strip())
            case "step.ended":
                return self._ended(data)
            case "bench.progress":
                self._bench = bench_progress(data)
            case "bench.step":
                self._bench = ""
                return self._line("ran", bench_step(data))
            case "phase.started" if data["phase"] not in ("teardown", "bench"):
                return _heading(data["phase"])
            case _:
                return self._milestone(event)
        return None

    def _heard(self, step: str, line: str) -> None:
        if line and step in self._running:
            self._running[step].last = line

    def _ended(self, data: Any) -> Text | None:
        step = self._running.pop(data["step"], None)
        quick = data["seconds"] < QUICK_S and data["status"] in ("ran", "unchanged")
        if quick or step is None:
            return None
        return self._line(data["status"], step.title, show_duration(data["seconds"]))

    def _milestone(self, event: Event) -> Text | None:
        data: Any = event.data
        match event.kind:
            case "teardown.started":
                return _heading("teardown", f" ({data['reason']})")
            case "lease.gone":
                return self._line("ran", GONE)
            case "lease.unconfirmed":
                return self._line("failed", f"still there: {'; '.join(data['remains'])}")
            case _:
                return None

    def _render(self) -> RenderableType:
        from rich.console import Group
        from rich.text import Text

        now = self._monotonic()
        with self._lock:
            slow = [step for step in self._running.values() if now - step.since > QUICK_S]
            lines = [
                self._line("started", step.title, f"{show_duration(now - step.since)}  {step.last}".rstrip())
                for step in slow[:_SHOWN]
            ]
            bench = self._bench
        if len(slow) > _SHOWN:
            lines.append(Text(f"    and {len(slow) - _SHOWN} more", "dim"))
        if bench:
            lines.append(Text(f"    {bench}"))
        for line in lines:
            line.no_wrap, line.overflow = True, "ellipsis" if self._unicode else "crop"
        return Group(*lines)

    def _line(self, status: str, text: str, dimmed: str = "") -> Text:
        from rich.text import Text

        shown = Text.assemble("  ", (self._marks.get(status, status), _COLOURS.get(status, "")), " ", clean(text))
        return shown.append(f" {dimmed}", "dim") if dimmed else shown


def _heading(text: str, dimmed: str = "") -> Text:
    from rich.text import Text

    return Text.assemble((text, "bold"), (dimmed, "dim"))
