"""What the hallway writes to a run's folder: opened before the first effect, rendered anew after each command."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from dsctl.core.errors import DsctlError
from dsctl.flow.profiles import Loaded
from dsctl.ledger.store import Row
from dsctl.model.plan import Plan, plan_from_json
from dsctl.runbook import folder
from dsctl.runbook.journal import Journal
from dsctl.runbook.render import write_reports

__all__ = ["OpenRunbook", "open_runbook", "stored_plan", "write_reports"]


@dataclass(frozen=True, slots=True)
class OpenRunbook:
    path: Path
    journal: Journal


def open_runbook(row: Row, loaded: Loaded, plan: Plan) -> OpenRunbook:
    """Make the folder with the profile and plan in it. Raises DsctlError when it cannot be written."""
    try:
        folder.create(row.runbook)
        folder.write_profile(row.runbook, loaded.text, loaded.overrides, loaded.profile.resolved())
        folder.write_plan(row.runbook, plan.to_json())
        return OpenRunbook(row.runbook, Journal.create(row.runbook))
    except OSError as error:
        hint = "set DSCTL_RUNBOOKS to a folder that can be written and has room"
        raise DsctlError(f"the run cannot be written down in {row.runbook}: {error.strerror}", hint=hint) from error


def stored_plan(path: Path) -> Plan | None:
    """The plan a run was started with; None when its folder is gone."""
    try:
        return plan_from_json(json.loads((path / "plan.json").read_text()))
    except (OSError, ValueError, KeyError):
        return None
