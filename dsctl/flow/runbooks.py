"""Read runs that were written down."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dsctl.core.errors import DsctlError
from dsctl.runbook import folder
from dsctl.runbook.fold import RunState
from dsctl.runbook.manifest import manifest
from dsctl.runbook.recorded import recorded
from dsctl.runbook.render import readme


def list_runs(root: Path) -> list[dict[str, Any]]:
    """One manifest a run, newest first, each derived from its journal."""
    return [_manifest(path) for path in folder.folders(root)]


def show_run(root: Path, ref: str | None) -> tuple[Path, dict[str, Any], str]:
    """The folder, the manifest and the story of a run, commands left out; without ``ref`` the newest."""
    run = recorded(folder.find(root, ref))
    return run.folder, run.manifest(), readme(run, commands=False)


def _manifest(path: Path) -> dict[str, Any]:
    """A journal that this version cannot read is one odd row, not the end of the list."""
    try:
        return recorded(path).manifest()
    except DsctlError as error:
        known = manifest(RunState())
        return {**known, "short": folder.short_of(path), "name": path.name, "status": f"unreadable: {error.message}"}
