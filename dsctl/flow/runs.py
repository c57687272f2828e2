"""Which run is meant: by name, short id, full id, or the start of one; without a word, the only one alive."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from dsctl.core.errors import UsageFault
from dsctl.core.ids import short_id
from dsctl.flow import wire
from dsctl.ledger.store import Row


def find_run(ref: str | None, *, alive_only: bool = True) -> Row:
    """Raises UsageFault when no run, or more than one, fits; never guesses."""
    rows = wire.ledger().rows(alive_only=alive_only)
    if ref is None:
        return _the_only(rows)
    exact = [row for row in rows if ref in (row.name, row.run_id, short_id(row.run_id), row.runbook.name)]
    if exact:
        return exact[0]
    started = [row for row in rows if _starts(row, ref)]
    if len(started) == 1:
        return started[0]
    if started:
        raise UsageFault(f"{ref} fits several runs", context=_listing(started), hint="use one of the ids above")
    raise _unknown(ref, rows, alive_only=alive_only)


def _starts(row: Row, ref: str) -> bool:
    return row.name.startswith(ref) or row.run_id.startswith(ref.upper()) or short_id(row.run_id).startswith(ref)


def _the_only(rows: Sequence[Row]) -> Row:
    if not rows:
        raise UsageFault("no run is up", hint="dsctl up local-1p2d")
    if len(rows) > 1:
        raise UsageFault("several runs are up; say which", context=_listing(rows), hint=f"for example {rows[0].name}")
    return rows[0]


def _unknown(ref: str, rows: Sequence[Row], *, alive_only: bool) -> UsageFault:
    names = [name for row in rows for name in (row.name, short_id(row.run_id))]
    close = difflib.get_close_matches(ref, names, n=1)
    hint = f"did you mean {close[0]}?" if close else "dsctl ps -a   shows every run"
    return UsageFault(f"no {'live ' if alive_only else ''}run is called {ref}", context=_listing(rows), hint=hint)


def _listing(rows: Sequence[Row]) -> tuple[str, ...]:
    return tuple(f"{short_id(row.run_id)}  {row.name}  ({row.state})" for row in rows)


def live_names() -> list[str]:
    """Names of live runs, for completion."""
    return [row.name for row in wire.ledger().rows()]
