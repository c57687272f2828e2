"""Knows a run's folder: ``<utc>-<profile>-<run6>/`` and the files in it, and how people name one."""

from __future__ import annotations

import difflib
import json
import os
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from dsctl.core.errors import UsageFault
from dsctl.core.ids import SHORT, short_id
from dsctl.runbook.journal import FILE, first

PROFILE, OVERRIDES, RESOLVED, PLAN = "profile.yaml", "overrides.txt", "profile.resolved.json", "plan.json"
_LISTED = 10


def name_of(run_id: str, profile: str, unix: float) -> str:
    """``20261201T091500Z-local-1p2d-k3x9qz``: sorts by time."""
    return f"{datetime.fromtimestamp(unix, UTC):%Y%m%dT%H%M%SZ}-{profile}-{short_id(run_id)}"


def create(folder: Path) -> None:
    """Raises OSError, also when the folder is there already."""
    folder.mkdir(parents=True)


def write_profile(folder: Path, given: str, overrides: Sequence[str], resolved: Mapping[str, Any]) -> None:
    """The profile as given, the overrides, and every value that followed, apart."""
    write_text(folder / PROFILE, given)
    write_text(folder / OVERRIDES, "".join(f"{override}\n" for override in overrides))
    _write_json(folder / RESOLVED, resolved)


def write_plan(folder: Path, plan: Mapping[str, Any]) -> None:
    _write_json(folder / PLAN, plan)


def read_profile(folder: Path) -> dict[str, Any]:
    """The resolved profile a run was started with."""
    return json.loads((folder / RESOLVED).read_text(encoding="utf-8"))


def read_overrides(folder: Path) -> tuple[str, ...]:
    """``KEY=VALUE`` as given with ``--set``; empty when there were none."""
    try:
        return tuple((folder / OVERRIDES).read_text(encoding="utf-8").splitlines())
    except FileNotFoundError:
        return ()


def write_text(path: Path, text: str) -> None:
    """All of it or nothing: a reader never sees half a file. Raises OSError."""
    part = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        part.write_text(text, encoding="utf-8")
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def folders(root: Path) -> list[Path]:
    """Every run's folder under ``root``, newest first."""
    return sorted((path.parent for path in root.glob(f"*/{FILE}")), key=lambda path: path.name, reverse=True)


def find(root: Path, ref: str | None) -> Path:
    """By folder name, full id, short id or run name (its newest), or by the start of one that fits one run only.

    Without ``ref`` the newest run. Raises UsageFault, with what there is, when none fits or more than one.
    """
    found = folders(root)
    if not found:
        raise UsageFault(f"there is no run in {root}", hint="dsctl up local-1p2d, or set DSCTL_RUNBOOKS")
    if ref is None:
        return found[0]
    ids = {path: _ids(path) for path in found}
    matching = [path for path in found if ref in (path.name, ids[path][0])]
    matching = matching or [path for path in found if ref.lower() == short_of(path)]
    if not matching:
        named = [path for path in found if ref == ids[path][1]]
        matching = named[:1] or [path for path in found if _starts(path, ids[path], ref)]
    if len(matching) == 1:
        return matching[0]
    if matching:
        raise UsageFault(f"{ref} fits several runs", context=_listing(matching), hint="use one of the ids above")
    raise _unknown(root, ref, found, [name for pair in ids.values() for name in pair])


def _ids(path: Path) -> tuple[str, str]:
    """Full id and run name, from the journal's first line; empty when that is lost."""
    event = first(path)
    if event is None or event.kind != "run.opened":
        return "", ""
    return str(event.data.get("run_id", "")), str(event.data.get("name", ""))


def short_of(path: Path) -> str:
    """The six characters people type, from the end of the name."""
    return path.name[-SHORT:]


def _starts(path: Path, ids: tuple[str, str], ref: str) -> bool:
    return bool(ref) and any(text.lower().startswith(ref.lower()) for text in (path.name, short_of(path), *ids))


def _unknown(root: Path, ref: str, found: Sequence[Path], names: Sequence[str]) -> UsageFault:
    known = [name for name in (*names, *(p.name for p in found), *(short_of(p) for p in found)) if name]
    close = difflib.get_close_matches(ref, known, n=1)
    hint = f"did you mean {close[0]}?" if close else "dsctl runbook ls"
    return UsageFault(f"no run in {root} is called {ref}", context=_listing(found), hint=hint)


def _listing(paths: Sequence[Path]) -> tuple[str, ...]:
    more = len(paths) - _LISTED
    shown = tuple(f"{short_of(path)}  {path.name}" for path in paths[:_LISTED])
    return (*shown, f"and {more} more") if more > 0 else shown


def _write_json(path: Path, value: Mapping[str, Any]) -> None:
    write_text(path, json.dumps(value, indent=2, ensure_ascii=False) + "\n")
