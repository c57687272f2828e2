"""The hallway: profile -> plan -> offer -> lease -> host -> facts -> bootstrap -> weights -> launch -> ready."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dsctl import __version__
from dsctl.core.errors import DsctlError, NoOffer
from dsctl.core.ids import new_run_id, short_id
from dsctl.flow import wire
from dsctl.flow.box import Box, open_box
from dsctl.flow.compile import compile_plan
from dsctl.flow.execute import execute
from dsctl.flow.facts import look
from dsctl.flow.profiles import Loaded
from dsctl.flow.record import Recorder, SystemClock
from dsctl.flow.runs import find_run
from dsctl.flow.schedule import run_steps
from dsctl.flow.teardown import teardown_row
from dsctl.flow.writing import open_runbook, write_reports
from dsctl.ledger.store import Row
from dsctl.model.event import Emit, Sink
from dsctl.model.lease import Lease, Offer
from dsctl.model.plan import Plan
from dsctl.model.profile import Profile
from dsctl.ports.clock import Clock
from dsctl.ports.provider import Provider
from dsctl.runbook.folder import name_of
from dsctl.stages.bootstrap import SCRIPTS
from dsctl.stages.guard import shortfalls


@dataclass(frozen=True, slots=True)
class Request:
    """``keep``: what to do with a box whose start failed or was interrupted: leave it as it is, for a look."""

    loaded: Loaded
    name: str
    runbooks: Path
    keep: bool = False
    sinks: Sequence[Sink] = ()


@dataclass(frozen=True, slots=True)
class Ready:
    """``endpoint``: base URL for OpenAI clients, without ``/v1``. ``roles``: engine and store URLs by role."""

    run_id: str
    name: str
    endpoint: str
    model: str
    roles: dict[str, str]
    runbook: Path
    simulated: bool
    seconds: float


@dataclass(frozen=True, slots=True)
class Choice:
    plan: Plan
    provider: Provider
    offer: Offer


def choose(profile: Profile) -> Choice:
    """Plan, and the first offer of the first preferred provider that has one. Raises NoOffer."""
    plan = compile_plan(profile)
    for kind in profile.provider.prefer:
        provider = wire.provider(kind)
        for offer in provider.offers(profile):
            return Choice(plan, provider, offer)
    asked = ", ".join(profile.provider.prefer)
    raise NoOffer(
        f"no offer of {asked} fits {profile.name}", hint="relax hardware, or add a provider to provider.prefer"
    )


def up(request: Request, choice: Choice, clock: Clock | None = None) -> Ready:
    """Take the box and bring the deployment up. On failure or signal the box is given back unless ``keep``."""
    clock = clock or SystemClock()
    opened = clock.unix()
    row = _intend(request, choice, opened)
    try:
        runbook = open_runbook(row, request.loaded, choice.plan)
    except DsctlError:
        wire.ledger().ended(row.run_id, "gone", clock.unix())
        raise
    emit = Recorder((runbook.journal.append, *request.sinks), clock, opened).emit
    try:
        _open(emit, request, choice, row)
        lease = _take(emit, choice, row)
        box = open_box(choice.provider.host(lease), lease, choice.plan)
        _start(emit, request.loaded.profile, choice.plan, box)
        ready = _ready(request, row, clock.unix() - opened)
        emit("ready.seen", endpoint=ready.endpoint, model=ready.model, roles=ready.roles, seconds=ready.seconds)
    except Exception as error:
        _failed(emit, error, row, request, clock)
        raise
    write_reports(row.runbook)
    return ready


def _intend(request: Request, choice: Choice, opened: float) -> Row:
    """The intent is in the ledger before anything else exists; a live run of that name ends here."""
    profile = request.loaded.profile
    run_id = new_run_id(int(opened * 1000))
    row = Row(
        run_id=run_id,
        name=request.name,
        profile=profile.name,
        state="intent",
        created=opened,
        ended=None,
        deadline=opened + profile.limits.ttl,
        runbook=request.runbooks / name_of(run_id, profile.name, opened),
        ports=tuple(profile.ports.values()),
        lease=Lease(choice.provider.kind, "", run_id, choice.offer.usd_per_hour),
    )
    wire.ledger().intend(row)
    return row


def _open(emit: Emit, request: Request, choice: Choice, row: Row) -> None:
    profile = request.loaded.profile
    emit(
        "run.opened",
        run_id=row.run_id,
        short=short_id(row.run_id),
        name=row.name,
        profile=profile.name,
        provider=choice.provider.kind,
        simulated=profile.simulated,
        dsctl_version=__version__,
        parent="",
    )
    emit("plan.compiled", digest=choice.plan.digest(), steps=len(choice.plan.steps))
    emit(
        "offer.chosen", provider=choice.offer.provider, offer=choice.offer.what, usd_per_hour=choice.offer.usd_per_hour
    )


def _take(emit: Emit, choice: Choice, row: Row) -> Lease:
    emit("lease.intent", provider=choice.provider.kind, name=row.name)
    lease = choice.provider.create(choice.offer, row.run_id)
    wire.ledger().taken(row.run_id, lease)
    emit("lease.created", provider=lease.provider, instance=lease.instance)
    return lease


def _start(emit: Emit, profile: Profile, plan: Plan, box: Box) -> None:
    scripts = [step for step in plan.steps if step.id in {f"bootstrap/box/{name}" for name in SCRIPTS}]
    for step in scripts:
        execute(step, box, emit, threading.Event())
    emit("host.reached", host=box.host.name, slots=dict(box.slots))
    facts = look(box, tuple(profile.ports.values()))
    emit("facts.seen", facts=facts)
    _refuse_misfit(profile, facts, box)
    phases = ("bootstrap", "weights", "launch", "ready")
    rest = [step for step in plan.steps if step.phase in phases and step not in scripts]
    run_steps(rest, box, emit)


def _refuse_misfit(profile: Profile, facts: dict[str, Any], box: Box) -> None:
    present = profile.simulated or _installed(box)
    found = shortfalls(profile, facts, environment_present=present)
    if found:
        first, *others = found
        context = tuple(shortfall.message for shortfall in others)
        raise NoOffer(first.message, hint=first.hint, context=context)


def _installed(box: Box) -> bool:
    ready = box.fill("{engine.dir}/.ready")
    return box.host.run(("test", "-f", ready)).exit == 0


def _ready(request: Request, row: Row, seconds: float) -> Ready:
    profile = request.loaded.profile
    host = "127.0.0.1"
    return Ready(
        run_id=row.run_id,
        name=row.name,
        endpoint=f"http://{host}:{profile.gateway.port}",
        model=profile.served_name,
        roles={role: f"http://{host}:{port}" for role, port in profile.engine_ports.items()},
        runbook=row.runbook,
        simulated=profile.simulated,
        seconds=round(seconds, 1),
    )


def _failed(emit: Emit, error: Exception, row: Row, request: Request, clock: Clock) -> None:
    """Write the failure down, then give the box back, unless it is to be kept for a look."""
    known = error if isinstance(error, DsctlError) else DsctlError(f"a bug in dsctl: {error!r}")
    emit(
        "run.failed",
        code=known.code, exit=known.exit, message=known.message, hint=known.hint, context=known.context,
    )  # fmt: skip
    if request.keep:
        known.still_running = (f"run {row.name} ({short_id(row.run_id)}): dsctl teardown {row.name}",)
        write_reports(row.runbook)
        return
    current = find_run(row.run_id)
    teardown_row(current, reason=known.code, sinks=request.sinks, clock=clock)
