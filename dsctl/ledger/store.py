"""Knows which leases may be holding something right now: one SQLite file, written before every effect.

A lease is ``intent`` before its box is taken, ``live`` after, ``gone`` once its end is proven and ``unconfirmed``
when it could not be proven. Two runs of one name cannot both be alive: the database itself refuses the second.
"""

from __future__ import annotations

import fcntl
import json
import sqlite3
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from dsctl.core.errors import DsctlError, UsageFault
from dsctl.model.lease import Lease, LeaseState

ALIVE: tuple[LeaseState, ...] = ("intent", "live", "unconfirmed")

_SCHEMA = """
CREATE TABLE IF NOT EXISTS leases (
    run_id TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    profile TEXT NOT NULL,
    provider TEXT NOT NULL,
    instance TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('intent', 'live', 'gone', 'unconfirmed')),
    created REAL NOT NULL,
    ended REAL,
    deadline REAL NOT NULL,
    usd_per_hour REAL NOT NULL,
    runbook TEXT NOT NULL,
    layout TEXT NOT NULL,
    ports TEXT NOT NULL
);
CREATE UNIQUE INDEX IF NOT EXISTS one_alive_per_name ON leases (name)
    WHERE state IN ('intent', 'live', 'unconfirmed');
"""


@dataclass(frozen=True, slots=True)
class Row:
    """``created``, ``ended`` and ``deadline`` in seconds since 1970; ``runbook`` is the run's folder."""

    run_id: str
    name: str
    profile: str
    state: LeaseState
    created: float
    ended: float | None
    deadline: float
    runbook: Path
    ports: tuple[int, ...]
    lease: Lease

    @property
    def alive(self) -> bool:
        return self.state in ALIVE


class Ledger:
    def __init__(self, path: Path) -> None:
        self._path = path
        with self._alone(), self._open() as db:
            db.execute("PRAGMA journal_mode = WAL")
            db.executescript(_SCHEMA)

    def intend(self, row: Row) -> None:
        """Write the intent; raises UsageFault when a run of that name is alive."""
        lease = row.lease
        values = (
            row.run_id, row.name, row.profile, lease.provider, lease.instance, "intent", row.created, None,
            row.deadline, lease.usd_per_hour, str(row.runbook), json.dumps(dict(lease.layout)), json.dumps(row.ports),
        )  # fmt: skip
        try:
            with self._open() as db:
                db.execute(f"INSERT INTO leases VALUES ({','.join('?' * len(values))})", values)  # noqa: S608  only marks
        except sqlite3.IntegrityError as error:
            raise UsageFault(
                f"a run named {row.name} is already up",
                hint=f"dsctl bench {row.name}   (use it), dsctl teardown {row.name}   (end it), or another --name",
            ) from error

    def taken(self, run_id: str, lease: Lease) -> None:
        """The box is held: where it is, and what it costs."""
        with self._open() as db:
            db.execute(
                "UPDATE leases SET state = 'live', instance = ?, usd_per_hour = ?, layout = ? WHERE run_id = ?",
                (lease.instance, lease.usd_per_hour, json.dumps(dict(lease.layout)), run_id),
            )

    def ended(self, run_id: str, state: LeaseState, at: float) -> None:
        with self._open() as db:
            db.execute("UPDATE leases SET state = ?, ended = ? WHERE run_id = ?", (state, at, run_id))

    def rows(self, *, alive_only: bool = True) -> tuple[Row, ...]:
        """Newest first."""
        where = "WHERE state IN ('intent', 'live', 'unconfirmed')" if alive_only else ""
        with self._open() as db:
            found = db.execute(f"SELECT * FROM leases {where} ORDER BY created DESC").fetchall()  # noqa: S608  constant
        return tuple(_row(record) for record in found)

    @contextmanager
    def _alone(self) -> Generator[None]:
        """SQLite does not wait when two processes make a new file's journal at once; a file lock does."""
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with self._path.with_suffix(".lock").open("w") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX)
                yield
        except OSError as error:
            hint = "set DSCTL_STATE_DIR to a folder that can be written"
            raise DsctlError(f"the ledger {self._path} cannot be used: {error.strerror}", hint=hint) from error

    @contextmanager
    def _open(self) -> Generator[sqlite3.Connection]:
        try:
            db = sqlite3.connect(self._path, timeout=30)
            try:
                db.row_factory = sqlite3.Row
                db.execute("PRAGMA synchronous = FULL")
                with db:
                    yield db
            finally:
                db.close()
        except sqlite3.OperationalError as error:
            hint = "free some disk, or set DSCTL_STATE_DIR to a folder that can be written"
            raise DsctlError(f"the ledger {self._path} cannot be used: {error}", hint=hint) from error


def _row(record: sqlite3.Row) -> Row:
    lease = Lease(
        provider=record["provider"],
        instance=record["instance"],
        run_id=record["run_id"],
        usd_per_hour=record["usd_per_hour"],
        layout=json.loads(record["layout"]),
    )
    return Row(
        run_id=record["run_id"],
        name=record["name"],
        profile=record["profile"],
        state=record["state"],
        created=record["created"],
        ended=record["ended"],
        deadline=record["deadline"],
        runbook=Path(record["runbook"]),
        ports=tuple(json.loads(record["ports"])),
        lease=lease,
    )
