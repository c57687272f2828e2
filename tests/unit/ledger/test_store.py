from __future__ import annotations

import multiprocessing
from pathlib import Path

import pytest

from dsctl.core.errors import DsctlError, UsageFault
from dsctl.ledger.store import Ledger, Row
from dsctl.model.lease import Lease


def row(run_id: str, name: str = "lab", created: float = 1.0) -> Row:
    return Row(
        run_id=run_id,
        name=name,
        profile="local-sim",
        state="intent",
        created=created,
        ended=None,
        deadline=created + 60,
        runbook=Path("runbooks/x"),
        ports=(8000, 8100),
        lease=Lease("local", "", run_id, 0.0),
    )


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger(tmp_path / "state" / "ledger.db")


def test_an_intent_is_alive_before_anything_is_taken(ledger: Ledger) -> None:
    ledger.intend(row("A"))
    (found,) = ledger.rows()
    assert (found.run_id, found.state, found.alive, found.ports) == ("A", "intent", True, (8000, 8100))
    assert found.lease.layout == {}


def test_a_second_live_run_of_one_name_is_refused_with_a_way_out(ledger: Ledger) -> None:
    ledger.intend(row("A"))
    with pytest.raises(UsageFault, match="already up") as refused:
        ledger.intend(row("B"))
    assert "dsctl teardown lab" in refused.value.hint
    assert [r.run_id for r in ledger.rows(alive_only=False)] == ["A"]


def test_a_name_is_free_again_once_its_run_is_gone(ledger: Ledger) -> None:
    ledger.intend(row("A"))
    ledger.ended("A", "gone", 5.0)
    ledger.intend(row("B", created=2.0))
    assert [r.run_id for r in ledger.rows()] == ["B"]
    assert [r.run_id for r in ledger.rows(alive_only=False)] == ["B", "A"]


def test_an_unconfirmed_end_keeps_the_name_taken(ledger: Ledger) -> None:
    ledger.intend(row("A"))
    ledger.ended("A", "unconfirmed", 5.0)
    with pytest.raises(UsageFault):
        ledger.intend(row("B"))


def test_what_was_taken_is_known_afterwards(ledger: Ledger) -> None:
    ledger.intend(row("A"))
    ledger.taken("A", Lease("local", "local:a", "A", 1.5, {"run.dir": "/x"}))
    (found,) = ledger.rows()
    assert (found.state, found.lease.instance, found.lease.usd_per_hour) == ("live", "local:a", 1.5)
    assert found.lease.layout == {"run.dir": "/x"}


def _race(path: Path, run_id: str, barrier: object, results: object) -> None:
    barrier.wait()  # type: ignore[attr-defined]
    try:
        Ledger(path).intend(row(run_id))
        results.put("won")  # type: ignore[attr-defined]
    except UsageFault:
        results.put("refused")  # type: ignore[attr-defined]


def test_of_two_processes_only_one_gets_the_name(ledger: Ledger, tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    barrier, results = context.Barrier(2), context.Queue()
    path = tmp_path / "state" / "ledger.db"
    processes = [context.Process(target=_race, args=(path, name, barrier, results)) for name in ("A", "B")]
    for process in processes:
        process.start()
    outcomes = sorted(results.get(timeout=30) for _ in processes)
    for process in processes:
        process.join(30)
    assert outcomes == ["refused", "won"]
    results.close()
    results.join_thread()


def _open_at_once(path: Path, barrier: object, results: object) -> None:
    barrier.wait()  # type: ignore[attr-defined]
    try:
        results.put(len(Ledger(path).rows()))  # type: ignore[attr-defined]
    except DsctlError as error:
        results.put(error.message)  # type: ignore[attr-defined]


@pytest.mark.parametrize("attempt", range(4))
def test_many_processes_may_make_a_new_ledger_at_once(tmp_path: Path, attempt: int) -> None:
    context = multiprocessing.get_context("fork")
    barrier, results = context.Barrier(8), context.Queue()
    path = tmp_path / "ledger.db"
    processes = [context.Process(target=_open_at_once, args=(path, barrier, results)) for _ in range(8)]
    for process in processes:
        process.start()
    outcomes = [results.get(timeout=30) for _ in processes]
    for process in processes:
        process.join(30)
    assert outcomes == [0] * 8
    results.close()
    results.join_thread()


def test_a_ledger_that_cannot_be_used_says_so(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    path.mkdir()
    with pytest.raises(DsctlError, match="ledger") as failed:
        Ledger(path)
    assert "DSCTL_STATE_DIR" in failed.value.hint


def test_a_state_folder_that_cannot_be_made_is_said(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("a file, not a folder")
    with pytest.raises(DsctlError, match="ledger") as failed:
        Ledger(tmp_path / "state" / "ledger.db")
    assert "DSCTL_STATE_DIR" in failed.value.hint
