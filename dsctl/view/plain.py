"""Event -> one timestamped line on stderr: for CI logs, files and pipes."""

from __future__ import annotations

from typing import IO, Any

from dsctl.core.units import show_duration
from dsctl.model.event import Event, Sink
from dsctl.view.words import bench_progress, bench_step, step_mark

PROGRESS_EVERY_S = 5.0
QUICK_S = 0.5


def plain_sink(stream: IO[str]) -> Sink:
    """Steps that take no time are left out, so that a log shows what mattered."""
    titles: dict[str, str] = {}
    last_progress = [float("-inf")]

    def see(event: Event) -> None:
        text = _text(event, titles)
        if event.kind == "bench.progress":
            if event.mono - last_progress[0] < PROGRESS_EVERY_S:
                return
            last_progress[0] = event.mono
        if text:
            stream.write(f"{event.at[11:19]} {text}\n")
            stream.flush()

    return see


def _text(event: Event, titles: dict[str, str]) -> str:  # noqa: PLR0911  one line a kind
    data: Any = event.data
    match event.kind:
        case "step.started":
            titles[data["step"]] = data["title"]
            return ""
        case "step.ended":
            quick = data["seconds"] < QUICK_S and data["status"] in ("ran", "unchanged")
            title = titles.get(data["step"], data["step"])
            return "" if quick else f"{step_mark(data['status'])} {title} ({show_duration(data['seconds'])})"
        case "phase.started":
            return f"-- {data['phase']}"
        case "bench.progress":
            return bench_progress(data)
        case "bench.step":
            return bench_step(data)
        case "run.failed":
            return f"failed: {data['message']}"
        case "teardown.started":
            return f"-- teardown ({data['reason']})"
        case "lease.gone":
            return "gone: no process, port or shared memory of the run is left"
        case "lease.unconfirmed":
            return f"NOT GONE: {'; '.join(data['remains'])}"
        case _:
            return ""
