"""Read runs that were written down."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dsctl.runbook import folder
from dsctl.runbook.fold import fold
from dsctl.runbook.journal import read
from dsctl.runbook.manifest import manifest
from dsctl.runbook.render import readme


def list_runs(root: Path) -> list[dict[str, Any]]:
    """One manifest a run, newest first, each derived from its journal."""
    return [manifest(fold(read(path))) for path in folder.folders(root)]


def show_run(root: Path, ref: str | None) -> tuple[Path, dict[str, Any], str]:
    """The folder, the manifest and the story of a run, commands left out; without ``ref`` the newest."""
    path = folder.find(root, ref)
    state = fold(read(path))
    return path, manifest(state), readme(state, None)
