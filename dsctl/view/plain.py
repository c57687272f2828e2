"""Event -> one timestamped line on stderr: for CI logs, files and pipes."""

from __future__ import annotations

from typing import IO, Any

from dsctl.core.units import show_duration
from dsctl.model.event import Event, Sink
from dsctl.view.streams import write
from dsctl.view.words import GONE, bench_progress, bench_step, step_mark

PROGRESS_EVERY_S = 5.0
QUICK_S = 0.5


def plain_sink(stream: IO[str]) -> Sink:
    """A command is said when it begins, so that a log shows where a run hangs; files put in no time are left out."""
    titles: dict[str, str] = {}
    last_progress = [float("-inf")]

    def see(event: Event) -> None:
        if event.kind == "bench.progress":
            if event.mono - last_progress[0] < PROGRESS_EVERY_S:
                return
            last_progress[0] = event.mono
        text = _text(event, titles)
        if text:
            write(stream, f"{event.at[11:19]} {text}\n")

    return see


def _text(event: Event, titles: dict[str, str]) -> str:
    data: Any = event.data
    match event.kind:
        case "step.started":
            titles[data["step"]] = data["title"]
            return "" if data["argv"][:1] == ["put"] else f"{step_mark('started')} {data['title']}"
        case "step.ended":
            return _ended(data, titles)
        case "phase.started":
            return f"-- {data['phase']}"
        case "bench.progress":
            return bench_progress(data)
        case "bench.step":
            return bench_step(data)
        case _:
            return _milestone(event)


def _ended(data: Any, titles: dict[str, str]) -> str:
    quick = data["seconds"] < QUICK_S and data["status"] in ("ran", "unchanged")
    title = titles.pop(data["step"], data["step"])
    return "" if quick else f"{step_mark(data['status'])} {title} ({show_duration(data['seconds'])})"


def _milestone(event: Event) -> str:
    """What happens once in a run."""
    data: Any = event.data
    match event.kind:
        case "run.opened":
            simulated = ", SIMULATED" if data.get("simulated") else ""
            return f"run {data['name']} ({data['short']}), profile {data['profile']} on {data['provider']}{simulated}"
        case "ready.seen":
            return f"ready: {data['endpoint']}/v1, model {data['model']}"
        case "run.failed":
            return f"failed: {data['message']}"
        case "teardown.started":
            return f"-- teardown ({data['reason']})"
        case "lease.gone":
            return f"gone: {GONE}"
        case "lease.unconfirmed":
            return f"NOT GONE: {'; '.join(data['remains'])}"
        case _:
            return ""
