"""Event -> a terminal that moves: finished steps scroll up, running ones stand below with their time and last words."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from types import TracebackType
from typing import IO, TYPE_CHECKING, Any, Self

from dsctl.core.units import show_duration
from dsctl.model.event import Event
from dsctl.view.words import bench_progress, bench_step

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

QUICK_S = 0.5
_MARKS = {
    "ran": "[green]✓[/]", "unchanged": "[dim]=[/]", "skipped": "[dim]-[/]", "failed": "[red]✗[/]",
}  # fmt: skip


@dataclass(slots=True)
class _Running:
    title: str
    since: float
    last: str = ""


class Live:
    """A sink for events from any thread. Use as a context manager; the moving part is gone at its end."""

    def __init__(self, stream: IO[str], *, styled: bool, console: Console | None = None) -> None:
        from rich.console import Console as RichConsole
        from rich.live import Live as RichLive

        self._console = console or RichConsole(file=stream, no_color=not styled, highlight=False, stderr=False)
        self._running: dict[str, _Running] = {}
        self._bench = ""
        self._lock = threading.Lock()
        self._live = RichLive(
            get_renderable=self._render,
            console=self._console,
            refresh_per_second=8,
            transient=True,
            redirect_stdout=False,
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
        if line:
            self._console.print(line)

    def _take(self, event: Event) -> str:
        from rich.markup import escape

        data: Any = event.data
        match event.kind:
            case "step.started":
                self._running[data["step"]] = _Running(data["title"], time.monotonic())
                return ""
            case "step.output":
                if data["step"] in self._running and data["line"].strip():
                    self._running[data["step"]].last = data["line"].strip()
                return ""
            case "step.ended":
                return self._ended(data)
            case "bench.progress":
                self._bench = bench_progress(data)
                return ""
            case "bench.step":
                self._bench = ""
                return f"  {_MARKS['ran']} {escape(bench_step(data))}"
            case "teardown.started":
                return f"[bold]teardown[/] [dim]({escape(data['reason'])})[/]"
            case "phase.started" if data["phase"] not in ("teardown", "bench"):
                return f"[bold]{data['phase']}[/]"
            case _:
                return _ending(event)

    def _ended(self, data: Any) -> str:
        from rich.markup import escape

        step = self._running.pop(data["step"], None)
        quick = data["seconds"] < QUICK_S and data["status"] in ("ran", "unchanged")
        if quick or step is None:
            return ""
        return f"  {_MARKS[data['status']]} {escape(step.title)} [dim]{show_duration(data['seconds'])}[/]"

    def _render(self) -> RenderableType:
        from rich.markup import escape
        from rich.text import Text

        with self._lock:
            running = list(self._running.values())
            bench = self._bench
        now = time.monotonic()
        lines = [
            f"  [cyan]•[/] {escape(step.title)} [dim]{show_duration(now - step.since)}  {escape(step.last[:60])}[/]"
            for step in running
            if now - step.since > QUICK_S
        ]
        if bench:
            lines.append(f"    {escape(bench)}")
        return Text.from_markup("\n".join(lines), overflow="ellipsis")


def _ending(event: Event) -> str:
    from rich.markup import escape

    if event.kind == "lease.gone":
        return f"  {_MARKS['ran']} no process, port or shared memory of the run is left"
    if event.kind == "lease.unconfirmed":
        return f"  {_MARKS['failed']} [red]still there: {escape('; '.join(event.data['remains']))}[/]"
    return ""
