"""Measure a live run: the load generator runs on the box, its lines become events, its files come to the runbook."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dsctl.bench.slo import check, parse_slo
from dsctl.core.errors import ExpectationFailed, UsageFault
from dsctl.flow import wire
from dsctl.flow.box import open_box
from dsctl.flow.record import Recorder, SystemClock
from dsctl.flow.schedule import run_steps
from dsctl.flow.writing import stored_plan, write_reports
from dsctl.ledger.store import Row
from dsctl.model.event import Emit, Sink
from dsctl.model.profile import Bench, Profile
from dsctl.model.step import Put, Run, Step
from dsctl.ports.clock import Clock
from dsctl.ports.host import Host
from dsctl.runbook.folder import read_profile
from dsctl.runbook.journal import Journal

_ARTIFACTS = ("result.json", "samples.jsonl", "asked-vs-delivered.svg", "ttft.svg", "reuse.svg")
_SLACK_S = 120.0


@dataclass(frozen=True, slots=True)
class Measured:
    """``steps``: one summary a rate. ``folder``: result.json, samples and charts. ``verdicts``: one an SLO."""

    run_id: str
    name: str
    steps: Sequence[Mapping[str, Any]]
    folder: Path
    simulated: bool
    verdicts: Sequence[Mapping[str, Any]] = field(default_factory=list[Mapping[str, Any]])


def bench_row(row: Row, changes: Mapping[str, Any], sinks: Sequence[Sink] = (), clock: Clock | None = None) -> Measured:
    """Run the profile's sweep with ``changes`` on top. Raises ExpectationFailed (exit 8) when an SLO is missed."""
    plan = stored_plan(row.runbook)
    if plan is None:
        raise UsageFault(f"the runbook of {row.name} is gone: {row.runbook}", hint=f"dsctl teardown {row.name}")
    profile = Profile.model_validate(read_profile(row.runbook))
    bench = _changed(profile.bench, changes)
    slo = parse_slo(bench.slo) if bench.slo else ()
    number = 1 + len(list((row.runbook / "artifacts").glob("bench-*")))
    clock = clock or SystemClock()
    emit = Recorder((Journal.open(row.runbook).append, *sinks), clock, row.created).emit
    host = wire.provider(row.lease.provider).host(row.lease)
    box = open_box(host, row.lease, plan)
    out = box.fill(f"{{run.dir}}/bench-{number}")
    target = row.runbook / "artifacts" / f"bench-{number}"
    summaries: list[Mapping[str, Any]] = []
    emit("bench.started", workload=bench.workload.model_dump(), rates=bench.rates, seed=bench.seed, number=number)
    try:
        run_steps(_steps(profile, bench, out, number), box, _relay(emit, summaries))
    finally:
        _fetch(host, out, target)
        emit("bench.ended", status="done" if len(summaries) == len(bench.rates) else "partial", artifacts=str(target))
        write_reports(row.runbook)
    verdicts = [dict(verdict) for verdict in check(slo, summaries)]
    missed = [verdict for verdict in verdicts if not verdict["ok"]]
    if missed:
        context = tuple(str(verdict["text"]) for verdict in missed)
        raise ExpectationFailed(f"{len(missed)} of {len(verdicts)} SLO checks missed", context=context)
    return Measured(row.run_id, row.name, summaries, target, profile.simulated, verdicts)


def changes_of(
    *,
    rate: str = "",
    duration: str = "",
    warmup: str = "",
    arrivals: str = "",
    prompt_tokens: int = 0,
    shared_ratio: float = -1,
    output_tokens: int = 0,
    seed: int = -1,
    slo: str = "",
) -> dict[str, Any]:
    """Command-line values to changes of the profile's ``bench`` part; empty, zero or negative means not given."""
    given: dict[str, Any] = {"duration": duration, "warmup": warmup, "arrivals": arrivals, "slo": slo}
    changes = {key: value for key, value in given.items() if value}
    if rate:
        changes["rates"] = tuple(_number(part) for part in rate.split(","))
    if seed >= 0:
        changes["seed"] = seed
    workload = {
        key: value
        for key, value, told in (
            ("prompt_tokens", prompt_tokens, prompt_tokens > 0),
            ("shared_ratio", shared_ratio, shared_ratio >= 0),
            ("output_tokens", output_tokens, output_tokens > 0),
        )
        if told
    }
    return changes | ({"workload": workload} if workload else {})


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise UsageFault(f"--rate: {text!r} is not a number", hint="--rate 1,2,4") from None


def _changed(bench: Bench, changes: Mapping[str, Any]) -> Bench:
    """The profile's bench part with changes on top, checked like a profile."""
    base = bench.model_dump()
    workload = {**base["workload"], **changes.get("workload", {})}
    try:
        return Bench.model_validate({**base, **changes, "workload": workload})
    except ValueError as error:
        raise UsageFault(f"these bench options do not fit: {error}", hint="dsctl bench --help") from error


def _steps(profile: Profile, bench: Bench, out: str, number: int) -> tuple[Step, Step]:
    spec = Step(
        id=f"bench/{number}/spec",
        phase="bench",
        role="bench",
        title="Write what to measure",
        action=Put(f"{out}/spec.json", json.dumps(spec_of(profile, bench), indent=2)),
    )
    longest = sum(bench.duration + bench.warmup + bench.request_timeout for _ in bench.rates) + _SLACK_S
    run = Step(
        id=f"bench/{number}/sweep",
        phase="bench",
        role="bench",
        title=f"Sweep {', '.join(f'{rate:g}' for rate in bench.rates)} requests/s",
        action=Run(("{dsctl.python}", "-m", "dsctl.bench", f"{out}/spec.json", "--out", out)),
        needs=(spec.id,),
        timeout_s=longest,
    )
    return spec, run


def spec_of(profile: Profile, bench: Bench) -> dict[str, Any]:
    """The load generator's specification for one run's stack."""
    base = "http://127.0.0.1"
    engines = {
        role: {"url": f"{base}:{port}", "role": role.rstrip("0123456789")}
        for role, port in profile.engine_ports.items()
    }
    first = next(iter(engines.values()))
    return {
        "schema": "dsctl.bench-spec/1",
        "target": f"{base}:{profile.gateway.port}",
        "model": profile.served_name,
        "tokenize_url": first["url"],
        "engines": engines,
        "workload": bench.workload.model_dump(),
        "arrivals": bench.arrivals,
        "rates": list(bench.rates),
        "duration_s": bench.duration,
        "warmup_s": bench.warmup,
        "seed": bench.seed,
        "timeout_s": bench.request_timeout,
        "simulated": profile.simulated,
    }


def _relay(emit: Emit, summaries: list[Mapping[str, Any]]) -> Emit:
    """The generator prints events as JSON lines; they join the run's events under their own kinds."""

    def relay(kind: str, **data: Any) -> None:
        line = data.get("line", "") if kind == "step.output" else ""
        if not line.startswith('{"event":'):
            emit(kind, **data)
            return
        said = json.loads(line)
        inner = said.pop("event")
        if inner == "bench.step":
            summaries.append(said)
        if inner in ("bench.step", "bench.progress"):
            emit(inner, **said)

    return relay


def _fetch(host: Host, out: str, target: Path) -> None:
    for name in _ARTIFACTS:
        try:
            data = host.read(f"{out}/{name}")
        except OSError:
            continue
        target.mkdir(parents=True, exist_ok=True)
        (target / name).write_bytes(data)
