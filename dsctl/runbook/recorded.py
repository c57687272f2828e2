"""Knows a run as it was written down: its folder read back, and the two files that are rendered from it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dsctl.model.plan import Plan, plan_from_json
from dsctl.runbook.fold import RunState, fold
from dsctl.runbook.folder import PLAN, read_overrides, read_profile, write_text
from dsctl.runbook.journal import being_written, read, verify
from dsctl.runbook.manifest import manifest


@dataclass(frozen=True, slots=True)
class Recorded:
    """``plan`` is None and ``profile``, with every value in it, empty when they were lost.

    ``problems`` say what is wrong with the journal.
    """

    folder: Path
    state: RunState
    plan: Plan | None
    profile: Mapping[str, Any]
    overrides: tuple[str, ...]
    problems: tuple[str, ...]

    def manifest(self) -> dict[str, Any]:
        return manifest(self.state, profile_digest=self.plan.profile_digest if self.plan else "")


def recorded(folder: Path) -> Recorded:
    """Read a run back. Raises DsctlError for a journal of another schema version."""
    return Recorded(
        folder=folder,
        state=fold(read(folder), writing=being_written(folder)),
        plan=_plan(folder),
        profile=_profile(folder),
        overrides=read_overrides(folder),
        problems=tuple(verify(folder)),
    )


def write_manifest(run: Recorded) -> None:
    """Raises OSError."""
    write_text(run.folder / "manifest.json", json.dumps(run.manifest(), indent=2, ensure_ascii=False) + "\n")


def _plan(folder: Path) -> Plan | None:
    try:
        return plan_from_json(json.loads((folder / PLAN).read_text(encoding="utf-8")))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _profile(folder: Path) -> dict[str, Any]:
    try:
        return read_profile(folder)
    except (OSError, ValueError):
        return {}
