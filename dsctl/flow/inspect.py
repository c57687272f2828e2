"""Look at runs without changing them: which are alive and how they are, and what their programs said."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from dsctl.core.errors import UsageFault
from dsctl.core.ids import short_id
from dsctl.flow import wire
from dsctl.flow.box import Box, open_box
from dsctl.flow.writing import stored_plan
from dsctl.ledger.store import Row
from dsctl.ports.clock import Clock
from dsctl.stages.supervision import control

_ASK_S = 15.0
_POLL_S = 0.3
_STATUS_LINE = re.compile(r"^(\S+)\s+([A-Z]+)\b", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Standing:
    """How a run is now. ``health``: ready, degraded (a program is down), starting, dead (no supervisor), or the end."""

    row: Row
    short: str
    health: str
    programs: Mapping[str, str]
    endpoint: str
    age_s: float
    ttl_left_s: float


def standings(clock: Clock, *, everything: bool = False) -> tuple[Standing, ...]:
    """Alive runs, asked live; with ``everything`` also those of the past, from the ledger alone."""
    return tuple(standing(row, clock) for row in wire.ledger().rows(alive_only=not everything))


def standing(row: Row, clock: Clock) -> Standing:
    box = _box(row)
    programs = _programs(box) if box and row.alive else {}
    return Standing(
        row=row,
        short=short_id(row.run_id),
        health=_health(row, programs),
        programs=programs,
        endpoint=f"http://127.0.0.1:{box.slots['gateway.port']}" if box and row.alive else "",
        age_s=(row.ended or clock.unix()) - row.created,
        ttl_left_s=max(0.0, row.deadline - clock.unix()) if row.alive else 0.0,
    )


def log_names(row: Row) -> tuple[str, ...]:
    plan = stored_plan(row.runbook)
    return (*(program.role for program in plan.programs), "supervisord") if plan else ()


def log_text(row: Row, role: str, *, tail: int) -> str:
    """The last ``tail`` lines of one program's log: from the box while it lives, from the runbook after."""
    text = _read(row, role, 0).decode(errors="replace")
    lines = text.splitlines(keepends=True)
    return "".join(lines[-tail:] if tail else lines)


def follow_log(row: Row, role: str, clock: Clock, *, tail: int) -> Iterator[str]:
    """What the log says, from its last ``tail`` lines on, until the run's folder on the box is gone."""
    data = _read(row, role, 0)
    yield "".join(data.decode(errors="replace").splitlines(keepends=True)[-tail:])
    offset = len(data)
    box = _box(row)
    while box:
        try:
            more = box.host.read(_log_path(box, role), offset=offset)
        except FileNotFoundError:
            return
        offset += len(more)
        if more:
            yield more.decode(errors="replace")
        clock.sleep(_POLL_S)


def _read(row: Row, role: str, offset: int) -> bytes:
    box = _box(row)
    names = log_names(row)
    if names and role not in names:
        raise UsageFault(f"{row.name} has no program {role}", hint=f"one of: {', '.join(names)}")
    try:
        if box and row.alive:
            return box.host.read(_log_path(box, role), offset=offset)
        return (row.runbook / "logs" / f"{role}.log").read_bytes()
    except FileNotFoundError as error:
        raise UsageFault(f"{role} of {row.name} has written no log", hint="dsctl ps -a") from error


def _log_path(box: Box, role: str) -> str:
    return box.fill(f"{{run.dir}}/logs/{role}.log")


def _box(row: Row) -> Box | None:
    plan = stored_plan(row.runbook)
    if plan is None or not row.lease.layout:
        return None
    return open_box(wire.provider(row.lease.provider).host(row.lease), row.lease, plan)


def _programs(box: Box) -> dict[str, str]:
    """Supervisor's word on each program; empty when there is no supervisor."""
    done = box.host.run(box.fill_all(control("status")), timeout_s=_ASK_S)
    return {name: state.lower() for name, state in _STATUS_LINE.findall(done.stdout) if not name.startswith("unix:")}


def _health(row: Row, programs: Mapping[str, str]) -> str:
    if not row.alive or row.state == "unconfirmed":
        return {"gone": "torn down", "unconfirmed": "UNCONFIRMED"}[row.state]
    if not programs:
        return "dead" if row.state == "live" else "starting"
    states = set(programs.values())
    if states == {"running"}:
        return "running"
    return "starting" if states <= {"running", "starting", "stopped"} else "degraded"
