"""Give a box back: stop in order, keep the logs, end what is left, and prove that nothing remains."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from dsctl.core.errors import DsctlError, Interrupted, TeardownUnconfirmed
from dsctl.core.ids import short_id
from dsctl.flow import wire
from dsctl.flow.box import Box, open_box
from dsctl.flow.execute import Cancelled, execute
from dsctl.flow.record import Recorder, SystemClock
from dsctl.flow.runs import find_run
from dsctl.flow.writing import stored_plan, write_reports
from dsctl.ledger.store import Row
from dsctl.model.event import Emit, Sink
from dsctl.model.lease import Gone
from dsctl.model.plan import Plan
from dsctl.ports.clock import Clock
from dsctl.runbook.journal import Journal
from dsctl.stages.supervision import control

_KEPT_LOG_BYTES = 4 * 2**20
_ASK_S = 15.0


@dataclass(frozen=True, slots=True)
class TornDown:
    """``already``: it had been torn down before; ``evidence`` is what the box itself said."""

    run_id: str
    name: str
    already: bool
    gone: Gone


def teardown_row(row: Row, *, reason: str, sinks: Sequence[Sink] = (), clock: Clock | None = None) -> TornDown:
    """Tear one run down; safe to call again, and after anything was killed. Raises TeardownUnconfirmed (exit 10)."""
    if not row.alive:
        return TornDown(row.run_id, row.name, already=True, gone=Gone(clean=True, remains=(), evidence={}))
    clock = clock or SystemClock()
    journal = (Journal.open(row.runbook).append,) if row.runbook.is_dir() else ()
    writing = _Collected()
    recorder = Recorder((*(writing.guard(sink) for sink in journal), *sinks), clock, row.created)
    try:
        gone = _tear(row, reason, recorder.emit, clock, writing)
    except Interrupted as error:
        remains = (f"run {row.name} ({short_id(row.run_id)})",)
        raise TeardownUnconfirmed(
            "the teardown was interrupted", hint=f"dsctl teardown {row.name}", still_running=remains
        ) from error
    if row.runbook.is_dir():
        writing.attempt(lambda: write_reports(row.runbook))
    if not gone.clean:
        message = f"run {row.name} ({short_id(row.run_id)}) is not gone"
        raise TeardownUnconfirmed(message, hint=f"dsctl teardown {row.name}", still_running=gone.remains)
    writing.raise_first()
    return TornDown(row.run_id, row.name, already=False, gone=gone)


class _Collected:
    """Failures to write things down. They are said at the end: a full disk is no reason to keep a box."""

    def __init__(self) -> None:
        self._failures: list[DsctlError] = []

    def guard(self, sink: Sink) -> Sink:
        return lambda event: self.attempt(lambda: sink(event))

    def attempt(self, write: Callable[[], object]) -> None:
        try:
            write()
        except Interrupted:
            raise
        except DsctlError as error:
            self._failures.append(error)
        except OSError as error:
            self._failures.append(DsctlError(f"the end of the run could not be written down: {error}"))

    def raise_first(self) -> None:
        if self._failures:
            raise self._failures[0]


def _tear(row: Row, reason: str, emit: Emit, clock: Clock, writing: _Collected) -> Gone:
    emit("teardown.started", reason=reason)
    provider = wire.provider(row.lease.provider)
    plan = stored_plan(row.runbook)
    if plan and row.lease.layout:
        box = open_box(provider.host(row.lease), row.lease, plan)
        _stop(plan, box, emit)
        _keep_logs(row, plan, box)
    gone = provider.destroy(row.lease, row.ports)
    if gone.clean:
        emit("lease.gone", instance=row.lease.instance, evidence=gone.evidence)
    else:
        emit("lease.unconfirmed", instance=row.lease.instance, remains=gone.remains, evidence=gone.evidence)
    writing.attempt(lambda: wire.ledger().ended(row.run_id, "gone" if gone.clean else "unconfirmed", clock.unix()))
    emit("run.closed", status="torn-down" if gone.clean else "teardown-unconfirmed")
    return gone


def _stop(plan: Plan, box: Box, emit: Emit) -> None:
    """Orderly, as far as there still is a supervisor to ask; the sweep that follows needs none of it."""
    if box.host.run(box.fill_all(control("pid")), timeout_s=_ASK_S).exit != 0:
        return
    emit("phase.started", phase="teardown")
    for step in plan.phase("teardown"):
        try:
            execute(step, box, emit, threading.Event())
        except Interrupted:
            raise
        except (DsctlError, Cancelled):
            continue
    emit("phase.ended", phase="teardown", status="done", seconds=None)


def _keep_logs(row: Row, plan: Plan, box: Box) -> None:
    """Copy the end of every log to the runbook; a log that cannot be had is no reason to keep a box."""
    target = row.runbook / "logs"
    for name in ("supervisord", *(program.role for program in plan.programs)):
        try:
            data = box.host.read(box.fill(f"{{run.dir}}/logs/{name}.log"), offset=-_KEPT_LOG_BYTES)
            target.mkdir(exist_ok=True)
            (target / f"{name}.log").write_bytes(data)
        except OSError:
            continue


def chosen_rows(refs: Sequence[str], *, everything: bool) -> tuple[Row, ...]:
    """Which runs to tear down: the named ones, all live ones, or the only live one; never a guess."""
    if everything:
        return wire.ledger().rows()
    return tuple(find_run(ref, alive_only=False) for ref in refs) or (find_run(None),)
