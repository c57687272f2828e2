"""Knows the manifest: identity and verdict of a run, small enough for a table of a thousand."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dsctl.runbook.fold import RunState

SCHEMA = "dsctl.runbook/1"


def manifest(state: RunState, *, profile_digest: str = "") -> dict[str, Any]:
    """``phase_seconds`` and ``ready_seconds`` are measured; ``bench`` is the headline of the last measurement."""
    identity = state.identity
    last = state.benches[-1] if state.benches else None
    return {
        "schema": SCHEMA,
        "run_id": identity.get("run_id", ""),
        "short": identity.get("short", ""),
        "name": identity.get("name", ""),
        "profile": identity.get("profile", ""),
        "provider": identity.get("provider", ""),
        "simulated": state.simulated,
        "status": state.status,
        "started": state.started,
        "ended": state.ended,
        "profile_digest": profile_digest,
        "plan_digest": state.plan_digest,
        "dsctl_version": identity.get("dsctl_version", ""),
        "ready_seconds": state.ready.get("seconds"),
        "phase_seconds": dict(state.phases),
        "benches": len(state.benches),
        "bench": [_headline(step) for step in last.steps] if last else [],
        "failure": {key: state.failure.get(key, "") for key in ("code", "message")} if state.failure else None,
        "teardown_confirmed": state.gone.get("confirmed"),
    }


def _headline(step: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "rate": step["rate"],
        "delivered_rate": step["delivered_rate"],
        "ttft_p50_ms": step["ttft_ms"].get("p50"),
        "ttft_p95_ms": step["ttft_ms"].get("p95"),
        "reuse": step["reuse"].get("measured"),
        "errors": sum(step["errors"].values()),
        "valid": step["valid"],
    }
