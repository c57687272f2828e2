"""One state from one list of events, at every point of a run."""

from __future__ import annotations

import pytest

from dsctl.model.event import Event
from dsctl.runbook.fold import fold
from dsctl.runbook.manifest import manifest
from tests.story import event, failed, measuring, opened, serving, starting, step, tearing, whole

_KILLED = [*opened(), *starting()[:8]]
_KILLED_IN_BENCH = [*opened(), *starting(), *serving(), *measuring()[:3]]


@pytest.mark.parametrize(
    ("events", "writing", "status"),
    [
        (opened(), True, "opening"),
        (opened(), None, "opening"),
        (opened(), False, "crashed"),
        (_KILLED, True, "running"),
        (_KILLED, False, "crashed"),
        (_KILLED, None, "crashed"),
        ([*_KILLED, *tearing()], False, "crashed"),
        ([*opened(), *starting(), *serving()], False, "ready"),
        (_KILLED_IN_BENCH, True, "benching"),
        (_KILLED_IN_BENCH, False, "ready"),
        ([*opened(), *starting(), *serving(), *measuring()], True, "ready"),
        (whole(), False, "torn-down"),
        ([*whole()[:-8], tearing()[0]], True, "tearing-down"),
        ([*opened(), *starting(), *serving(), *tearing()[:4]], False, "teardown-unconfirmed"),
        ([*opened(), *starting(), *serving(), *tearing(remains=["process 7: vllm"])], False, "teardown-unconfirmed"),
        ([*opened(), *tearing(remains=["port 8000"]), *tearing(300.0)], False, "crashed"),
        ([*whole()[:-8], *tearing(remains=["port 8000"]), *tearing(300.0)], False, "torn-down"),
        ([*opened(), failed()], False, "failed"),
        ([*opened(), failed(), *tearing()], False, "failed"),
        ([*opened(), failed(code="interrupted", exit_status=130), *tearing()], False, "interrupted"),
        ([*opened(), failed(), *tearing(remains=["port 8000"])], False, "teardown-unconfirmed"),
    ],
)
def test_status(events: list[Event], writing: bool | None, status: str) -> None:
    assert fold(events, writing=writing).status == status


def test_a_whole_run() -> None:
    state = fold(whole())
    assert state.identity["name"] == "lab"
    assert state.started == "2026-12-01T09:00:00.000Z"
    assert state.ended == "2026-12-01T09:03:24.000Z"
    assert state.phases == {"bootstrap": 20.0, "launch": 47.0, "ready": 1.5, "bench": 40.0}
    assert state.phase == ()
    assert state.slots["run.dir"] == "/srv/mnpqrs"
    assert [s.status for s in state.steps] == ["ran"] * len(state.steps)
    assert state.benches[0].status == "done"
    assert [s["rate"] for s in state.benches[0].steps] == [1.0, 4.0]
    assert state.gone["confirmed"] is True


def test_no_events_are_a_run_that_has_not_begun() -> None:
    assert fold([]).status == "opening"
    assert manifest(fold([]))["run_id"] == ""


def test_a_phase_done_in_two_parts_counts_both() -> None:
    part = [event(1, "phase.started", phase="bootstrap")]
    ended = event(2, "phase.ended", phase="bootstrap", status="done", seconds=1.25)
    assert fold([*part, ended, *part, ended]).phases == {"bootstrap": 2.5}


def test_a_step_done_again_is_another_step() -> None:
    first, second = step(0, 1, "bench/1/spec", status="failed", error="no"), step(5, 2, "bench/1/spec")
    states = fold([*first, *second]).steps
    assert [(s.status, s.seconds, s.error) for s in states] == [("failed", 1, "no"), ("ran", 2, "")]


def test_a_bench_without_an_end_was_killed() -> None:
    again = [*_KILLED_IN_BENCH, *measuring(300.0, number=2)]
    assert [bench.status for bench in fold(again, writing=True).benches] == ["killed", "done"]
    assert [bench.status for bench in fold(_KILLED_IN_BENCH, writing=False).benches] == ["killed"]
    assert [bench.status for bench in fold(_KILLED_IN_BENCH, writing=True).benches] == ["running"]


def test_events_whose_beginning_was_lost_do_no_harm() -> None:
    state = fold([event(1, "bench.ended", status="done"), *step(1, 1, "a/b/c")[1:], event(2, "future.kind", x=1)])
    assert state.benches == ()
    assert state.steps == ()


def test_every_prefix_of_a_run_has_a_state() -> None:
    events = [*whole()[:-1], *tearing(300.0, remains=["port 8000"]), failed()]
    for end in range(len(events) + 1):
        manifest(fold(events[:end], writing=False))


def test_manifest() -> None:
    document = manifest(fold(whole()), profile_digest="cd" * 32)
    assert next(iter(document)) == "schema"
    assert document["schema"] == "dsctl.runbook/1"
    assert document["ready_seconds"] == 70.0
    assert document["teardown_confirmed"] is True
    assert document["failure"] is None
    assert document["profile_digest"] == "cd" * 32
    assert document["bench"][1] == {
        "rate": 4.0,
        "delivered_rate": 2.5,
        "ttft_p50_ms": 120.0,
        "ttft_p95_ms": 180.5,
        "reuse": 0.78,
        "errors": 3,
        "valid": False,
    }
    assert manifest(fold([*opened(), failed()]))["failure"]["code"] == "not-ready"
