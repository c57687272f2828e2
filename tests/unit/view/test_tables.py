"""Tables fit eighty columns on a terminal, and lose nothing in a pipe."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from dsctl.runbook.fold import fold
from dsctl.runbook.manifest import manifest
from dsctl.view import results
from dsctl.view.sink import Out
from dsctl.view.tables import SWEEP_COLUMNS, sweep_rows, text_table
from tests.story import summary, whole
from tests.terminals import Terminal

_CELLS = st.text(st.characters(codec="ascii", categories=["L", "N"]), max_size=120)


def test_sweep() -> None:
    slow = summary(
        64.0, delivered_rate=31.5, errors={"timeout": 12, "http-500": 3}, valid=False,
        ttft_ms={"p50": 1234.5, "p95": 20123.4, "p99": 59999.9}, itl_ms={"p50": None, "p95": None, "p99": None},
        reuse={"measured": 1.0, "ideal": None},
    )  # fmt: skip
    assert text_table(SWEEP_COLUMNS, sweep_rows([summary(1.0), slow]), width=80).splitlines() == [
        "asked   sent   done  TTFT     ms          ITL    ms  reuse      %",
        "   /s     /s     /s   P50    P95    P99   P50   P99   real  ideal  err  valid",
        "    1   1.00   0.99   120    180    210  11.0  15.5   78.0   80.0    0  yes",
        "   64  64.00  31.50  1234  20123  60000     -     -    100      -   15  NO",
    ]


def test_numbers_stand_to_the_right_and_words_to_the_left() -> None:
    assert text_table(("name", "$/h", "n"), [["a", "$10.00", "5"], ["long", "$2.00", "-"]]) == (
        "name     $/h  n\na     $10.00  5\nlong   $2.00  -"
    )


def test_nothing_is_cut_without_a_width() -> None:
    assert "x" * 300 in text_table(("a", "b"), [["x" * 300, "y"]])


def test_the_widest_column_gives() -> None:
    assert text_table(("id", "name"), [["k3x9qz", "n" * 100]], width=30).splitlines()[1] == "k3x9qz " + "n" * 21 + ".."


@given(rows=st.lists(st.lists(_CELLS, min_size=6, max_size=6), max_size=5))
def test_six_columns_always_fit_eighty(rows: list[list[str]]) -> None:
    text = text_table(("run", "name", "status", "age", "where", "what"), rows, width=80)
    assert all(len(line) <= 80 for line in text.splitlines())


def test_an_empty_table_is_its_head() -> None:
    assert text_table(("run", "name"), []) == "run  name"


def test_the_list_of_runs_fits_eighty() -> None:
    document: dict[str, Any] = {**manifest(fold(whole())), "status": "teardown-unconfirmed", "name": "local-1p2d"}
    results.show_runbooks(Out("plain", answer := Terminal(tty=False), Terminal()), [document])
    assert answer.getvalue().splitlines() == [
        "run     name        started           status                ready  delivered  TTFT P50",
        "mnpqrs  local-1p2d  2026-12-01 09:00  teardown-unconfirmed  1m10s  2.50/s     120 ms",
    ]


def test_simulated_figures_are_labelled_in_the_list_of_runs() -> None:
    document = {**manifest(fold(whole())), "simulated": True}
    results.show_runbooks(Out("plain", answer := Terminal(tty=False), Terminal()), [document])
    assert "torn-down (sim)" in answer.getvalue()
    assert "120 ms (sim)" in answer.getvalue()
