"""Event -> one timestamped line on stderr: for CI logs, files and pipes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import IO, Any

from dsctl.core.units import show_duration
from dsctl.model.event import Event, Sink
from dsctl.view.streams import write
from dsctl.view.words import GONE, bench_progress, bench_step, step_mark

PROGRESS_EVERY_S = 5.0
QUICK_S = 0.5


@dataclass(frozen=True, slots=True)
class _Begun:
    """``said``: its beginning is in the log, so its end has to be."""

    title: str
    said: bool


def plain_sink(stream: IO[str]) -> Sink:
    """A command is said when it begins and when it ends, so that a log shows where a run hangs.

    Files put in no time are left out.
    """
    begun: dict[str, _Begun] = {}
    last_progress = [float("-inf")]

    def see(event: Event) -> None:
        if event.kind == "bench.progress":
            if event.mono - last_progress[0] < PROGRESS_EVERY_S:
                return
            last_progress[0] = event.mono
        text = _text(event, begun)
        if text:
            write(stream, f"{event.at[11:19]} {text}\n")

    return see


def _text(event: Event, begun: dict[str, _Begun]) -> str:
    data: Any = event.data
    match event.kind:
        case "step.started":
            step = begun[data["step"]] = _Begun(data["title"], said=data["argv"][:1] != ["put"])
            return f"{step_mark('started')} {step.title}" if step.said else ""
        case "step.ended":
            return _ended(data, begun)
        case "phase.started":
            return f"-- {data['phase']}"
        case "bench.progress":
            return bench_progress(data)
        case "bench.step":
            return bench_step(data)
        case _:
            return _milestone(event)


def _ended(data: Any, begun: dict[str, _Begun]) -> str:
    step = begun.pop(data["step"], None) or _Begun(data["step"], said=False)
    quick = data["seconds"] < QUICK_S and data["status"] in ("ran", "unchanged")
    if quick and not step.said:
        return ""
    return f"{step_mark(data['status'])} {step.title} ({show_duration(data['seconds'])})"


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
