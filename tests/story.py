"""A run told in events, with nothing of this machine in it: what the runbook tests read and write."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dsctl.flow.compile import compile_plan
from dsctl.flow.record import utc
from dsctl.model.event import Event
from dsctl.runbook import folder
from dsctl.runbook.journal import Journal
from tests.profiles import shipped

OPENED = 1_796_115_600.0
"""2026-12-01T09:00:00Z."""
RUN_ID = "01KBC9TQG0ABCDEFGHJKMNPQRS"
SHORT = "mnpqrs"
GIB = 2**30


def event(mono: float, kind: str, **data: Any) -> Event:
    return Event(kind, utc(OPENED + mono), mono, data)


def step(at: float, seconds: float, step_id: str, status: str = "ran", **more: Any) -> list[Event]:
    phase = step_id.partition("/")[0]
    title = f"Do {step_id.rpartition('/')[2]}"
    return [
        event(at, "step.started", step=step_id, phase=phase, role="box", title=title, argv=["do", step_id]),
        event(at + seconds, "step.ended", step=step_id, phase=phase, status=status, seconds=seconds, **more),
    ]


def opened(*, simulated: bool = False) -> list[Event]:
    return [
        event(
            0.0, "run.opened",
            run_id=RUN_ID, short=SHORT, name="lab", profile="local-1p2d", provider="local", simulated=simulated,
            dsctl_version="0.1.0", parent="",
        ),
        event(0.1, "plan.compiled", digest="ab" * 32, steps=30),
        event(0.2, "lease.intent", provider="local", name="lab"),
        event(0.3, "lease.created", provider="local", instance="local:mnpqrs"),
        event(0.4, "host.reached", host="local", slots={"run.dir": "/srv/mnpqrs", "box.python": "/usr/bin/python3"}),
        event(
            0.5, "facts.seen",
            facts={
                "cpu": "Example CPU", "machine": "x86_64", "cpus": 2, "memory_total": 8 * GIB, "gpus": [],
                "system": "Linux", "kernel": "6.1.0",
            },
        ),
    ]  # fmt: skip


def starting() -> list[Event]:
    """Two programs boot at once; decode0 is the slow one."""
    return [
        event(1.0, "phase.started", phase="bootstrap"),
        *step(1.0, 20.0, "bootstrap/box/engine-env", observed={"status": "unchanged"}),
        event(21.0, "phase.ended", phase="bootstrap", status="done", seconds=20.0),
        event(21.0, "phase.started", phase="launch"),
        *step(21.0, 30.0, "launch/prefill0/ready"),
        *step(21.0, 45.0, "launch/decode0/ready"),
        *step(66.0, 2.0, "launch/gateway/ready"),
        event(68.0, "phase.ended", phase="launch", status="done", seconds=47.0),
        event(68.0, "phase.started", phase="ready"),
        *step(68.0, 1.5, "ready/gateway/chat", observed={"model": "lab", "completion_tokens": 8}),
        event(69.5, "phase.ended", phase="ready", status="done", seconds=1.5),
    ]


def serving() -> list[Event]:
    roles = {"prefill0": "http://127.0.0.1:8100", "decode0": "http://127.0.0.1:8101"}
    return [event(70.0, "ready.seen", endpoint="http://127.0.0.1:8000", model="lab", roles=roles, seconds=70.0)]


def summary(rate: float, **changes: Any) -> dict[str, Any]:
    return {
        "rate": rate,
        "sent_rate": rate,
        "delivered_rate": rate * 0.99,
        "requests": round(rate * 15),
        "ok": round(rate * 15),
        "errors": {},
        "ttft_ms": {"p50": 120.0, "p95": 180.5, "p99": 210.25},
        "ttft_schedule_ms": {"p50": 120.2, "p95": 181.0, "p99": 211.0},
        "itl_ms": {"p50": 11.0, "p95": 13.0, "p99": 15.5},
        "e2e_ms": {"p50": 500.0, "p95": 620.0, "p99": 700.0},
        "lateness_ms": {"p50": 0.1, "p99": 1.0},
        "reuse": {"measured": 0.78, "ideal": 0.8, "by_role": {}},
        "output_tokens_per_s": 32.0 * rate,
        "valid": True,
        "invalid_reason": "",
        "simulated": False,
        **changes,
    }


def measuring(at: float = 100.0, *, number: int = 1) -> list[Event]:
    invalid = summary(
        4.0, delivered_rate=2.5, errors={"timeout": 3}, ok=57, valid=False, invalid_reason="sent 3.1 of 4 req/s",
        itl_ms={"p50": None, "p95": None, "p99": None},
    )  # fmt: skip
    return [
        event(at, "bench.started", workload={"kind": "chat"}, rates=[1, 4], seed=0, number=number),
        event(at + 1, "phase.started", phase="bench"),
        *step(at + 1, 40.0, f"bench/{number}/sweep"),
        event(at + 20, "bench.step", **summary(1.0)),
        event(at + 40, "bench.step", **invalid),
        event(at + 41, "phase.ended", phase="bench", status="done", seconds=40.0),
        event(at + 42, "bench.ended", status="done", artifacts="artifacts/bench-1"),
    ]  # fmt: skip


def tearing(at: float = 200.0, *, remains: Sequence[str] = ()) -> list[Event]:
    evidence = {"clean": not remains, "remaining": {}, "ports_left": []}
    end: Mapping[str, Any] = {"instance": "local:mnpqrs", "evidence": evidence}
    return [
        event(at, "teardown.started", reason="asked"),
        event(at, "phase.started", phase="teardown"),
        *step(at, 3.0, "teardown/gateway/stop"),
        event(at + 3, "phase.ended", phase="teardown", status="done", seconds=None),
        event(at + 4, "lease.unconfirmed", remains=list(remains), **end)
        if remains
        else event(at + 4, "lease.gone", **end),
        event(at + 4, "run.closed", status="teardown-unconfirmed" if remains else "torn-down"),
    ]


def failed(at: float = 50.0, *, code: str = "not-ready", exit_status: int = 7) -> Event:
    return event(
        at, "run.failed",
        code=code, exit=exit_status, message="launch/decode0/ready: not done within 300 s",
        hint="dsctl logs lab decode0",
        context=["the end of decode0.log", "bind to 203.0.113.7:8101 failed"],
    )  # fmt: skip


def whole() -> list[Event]:
    return [*opened(), *starting(), *serving(), *measuring(), *tearing()]


def make_run(root: Path, events: Sequence[Event], *, run_id: str = RUN_ID, unix: float = OPENED) -> Path:
    """A run's folder as the hallway leaves it, without the reports."""
    profile = shipped("local-1p2d")
    path = root / folder.name_of(run_id, profile.name, unix)
    folder.create(path)
    folder.write_profile(path, "schema: dsctl.profile/1\n", ("kv.l1_size=4GiB",), profile.resolved())
    folder.write_plan(path, compile_plan(profile).to_json())
    journal = Journal.create(path)
    for one in events:
        journal.append(one)
    journal.close()
    return path
