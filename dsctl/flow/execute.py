"""One step on one box: guard, run, expect, and say so in events."""

from __future__ import annotations

import json
import shlex
import threading
import time
from collections.abc import Mapping
from importlib.resources import files
from typing import Any, cast

from dsctl.core.digest import digest
from dsctl.core.errors import DsctlError, ExpectationFailed, NotReady, StepFailed
from dsctl.flow.box import Box
from dsctl.model.event import Emit
from dsctl.model.plan import step_json
from dsctl.model.step import Expect, Put, Run, Status, Step
from dsctl.ports.host import Completed

_GUARD_S = 60.0
_SHOWN_LINES = 12
_LOG_BYTES = 6000
_DIED = 3
"""Exit status of the probe script when the program it waits for died."""


class Cancelled(Exception):
    """The step was stopped because the run is ending."""


def execute(step: Step, box: Box, emit: Emit, cancel: threading.Event) -> Mapping[str, Any]:
    """Run one step; returns what was observed (the last JSON line of its output). Raises DsctlError or Cancelled."""
    started = time.monotonic()
    argv = _shown_argv(step, box)
    emit(
        "step.started",
        step=step.id,
        phase=step.phase,
        role=step.role,
        title=step.title,
        argv=argv,
        template_digest=digest(step_json(step)["action"]),
        rendered_digest=digest(argv),
    )

    def ended(status: Status, **more: Any) -> None:
        emit("step.ended", step=step.id, phase=step.phase, status=status, seconds=_since(started), **more)

    try:
        if _already_done(step, box, cancel):
            ended("unchanged")
            return {}
        if isinstance(step.action, Put):
            box.host.put(box.fill(step.action.path), _content(step.action, box))
            ended("ran")
            return {}
        done = _run(step, step.action, box, emit, cancel)
        observed = _judge(step, step.action, done, box)
    except Cancelled:
        ended("skipped")
        raise
    except DsctlError as error:
        ended("failed", error=error.message)
        raise
    except OSError as error:
        ended("failed", error=str(error))
        hint = "free some disk and try again" if error.errno == 28 else "see the path in the message"
        raise StepFailed(f"{step.id}: {error}", hint=hint) from error
    ended("ran", exit=done.exit, observed=observed)
    return observed


def _since(started: float) -> float:
    return round(time.monotonic() - started, 3)


def _shown_argv(step: Step, box: Box) -> list[str]:
    if isinstance(step.action, Run):
        return list(box.fill_all(step.action.argv))
    return ["put", box.fill(step.action.path)]


def _already_done(step: Step, box: Box, cancel: threading.Event) -> bool:
    if cancel.is_set():
        raise Cancelled
    return bool(step.guard) and box.host.run(box.fill_all(step.guard), timeout_s=_GUARD_S, cancel=cancel).exit == 0


def _content(action: Put, box: Box) -> bytes:
    if action.source:
        return files("dsctl").joinpath(action.source).read_bytes()
    return box.fill(action.text).encode()


def _run(step: Step, action: Run, box: Box, emit: Emit, cancel: threading.Event) -> Completed:
    done = box.host.run(
        box.fill_all(action.argv),
        env={name: box.fill(value) for name, value in action.env.items()},
        timeout_s=step.timeout_s,
        on_line=lambda line: emit("step.output", step=step.id, line=line),
        cancel=cancel,
    )
    if done.cancelled:
        raise Cancelled
    return done


def _judge(step: Step, action: Run, done: Completed, box: Box) -> Mapping[str, Any]:
    observed = _last_json(done.stdout)
    if done.exit != 0 or done.timed_out:
        raise _failure(step, action, done, observed, box)
    for expect in step.expect:
        seen = _at(observed, expect.path)
        if not _holds(expect, seen):
            message = f"{step.id}: expected {expect.path} {expect.op} {expect.value!r}, saw {seen!r}"
            context = (*done.output.strip().splitlines()[-_SHOWN_LINES:], *_log_tail(action, box))
            raise ExpectationFailed(message, hint=_by_hand(step, box), context=context)
    return observed


def _failure(step: Step, action: Run, done: Completed, observed: Mapping[str, Any], box: Box) -> DsctlError:
    said = str(observed.get("error") or "")
    lines = () if said else tuple(done.output.strip().splitlines()[-_SHOWN_LINES:])
    what = f"not done within {step.timeout_s:g} s" if done.timed_out else said or f"exit status {done.exit}"
    context = (*lines, *_log_tail(action, box))
    late = step.not_ready and (done.timed_out or done.exit != _DIED)
    kind = NotReady if late else StepFailed
    return kind(f"{step.id}: {what}", hint=_by_hand(step, box), context=context)


def _by_hand(step: Step, box: Box) -> str:
    command = shlex.join(_shown_argv(step, box))
    return f"run it by hand: {command}" if len(command) < 400 else ""


def _log_tail(action: Run, box: Box) -> tuple[str, ...]:
    if not action.log:
        return ()
    path = box.fill(action.log)
    try:
        text = box.host.read(path, offset=-_LOG_BYTES).decode(errors="replace")
    except FileNotFoundError:
        return (f"({path} was never written)",)
    return (f"--- the end of {path}", *text.splitlines()[-_SHOWN_LINES * 2 :])


def _last_json(stdout: str) -> dict[str, Any]:
    lines = stdout.strip().splitlines()
    try:
        value: Any = json.loads(lines[-1]) if lines else {}
    except ValueError:
        return {}
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _at(observed: Mapping[str, Any], path: str) -> Any:
    value: Any = observed
    for key in path.split("."):
        value = cast("Mapping[str, Any]", value).get(key) if isinstance(value, Mapping) else None
    return value


def _holds(expect: Expect, seen: Any) -> bool:
    match expect.op:
        case "==":
            return bool(seen == expect.value)
        case ">=":
            return isinstance(seen, int | float) and seen >= expect.value
        case "<=":
            return isinstance(seen, int | float) and seen <= expect.value
        case "contains":
            return expect.value in (seen or ())
