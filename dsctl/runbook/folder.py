"""Knows a run's folder: ``<utc>-<profile>-<run6>/`` and the files in it, and how people name one."""

from __future__ import annotations

import difflib
import json
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from dsctl.core.errors import UsageFault
from dsctl.core.ids import short_id
from dsctl.runbook.journal import FILE, read

RESOLVED = "profile.resolved.json"


def name_of(run_id: str, profile: str, unix: float) -> str:
    """``20261201T091500Z-local-1p2d-k3x9qz``: sorts by time."""
    return f"{datetime.fromtimestamp(unix, UTC):%Y%m%dT%H%M%SZ}-{profile}-{short_id(run_id)}"


def create(folder: Path) -> None:
    """Raises OSError."""
    folder.mkdir(parents=True)


def write_profile(folder: Path, given: str, overrides: Sequence[str], resolved: Mapping[str, Any]) -> None:
    """The profile as given, the overrides, and every value that followed, apart."""
    (folder / "profile.yaml").write_text(given)
    (folder / "overrides.txt").write_text("".join(f"{override}\n" for override in overrides))
    _write_json(folder / RESOLVED, resolved)


def write_plan(folder: Path, plan: Mapping[str, Any]) -> None:
    _write_json(folder / "plan.json", plan)


def read_profile(folder: Path) -> dict[str, Any]:
    """The resolved profile a run was started with."""
    return json.loads((folder / RESOLVED).read_text())


def folders(root: Path) -> list[Path]:
    """Every run's folder under ``root``, newest first."""
    return sorted((path.parent for path in root.glob(f"*/{FILE}")), key=lambda path: path.name, reverse=True)


def find(root: Path, ref: str | None) -> Path:
    """By folder name, short id, full id or run name (its newest), or the start of a folder name or short id.

    Without ``ref`` the newest run. Raises UsageFault, with what there is.
    """
    found = folders(root)
    if not found:
        raise UsageFault(f"there is no run in {root}", hint="dsctl up local-1p2d, or set DSCTL_RUNBOOKS")
    if ref is None:
        return found[0]
    for fits in (_is_named(ref), _starts_with(ref)):
        matching = [path for path in found if fits(path)]
        if matching:
            return matching[0]
    names = [name for path in found for name in (path.name, path.name[-6:])]
    close = difflib.get_close_matches(ref, names, n=1)
    hint = f"did you mean {close[0]}?" if close else "dsctl runbook ls"
    raise UsageFault(f"no run in {root} is called {ref}", context=tuple(p.name for p in found[:10]), hint=hint)


def _is_named(ref: str) -> Callable[[Path], bool]:
    def named(path: Path) -> bool:
        if ref in (path.name, path.name[-6:]):
            return True
        events = read(path)
        if not events or events[0].kind != "run.opened":
            return False
        return ref in (events[0].data["name"], events[0].data["run_id"])

    return named


def _starts_with(ref: str) -> Callable[[Path], bool]:
    return lambda path: path.name.startswith(ref) or path.name[-6:].startswith(ref)


def _write_json(path: Path, value: Mapping[str, Any]) -> None:
    path.write_text(json.dumps(value, indent=2, ensure_ascii=False) + "\n")
