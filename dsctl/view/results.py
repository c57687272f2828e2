"""Results of commands -> what a person reads, or one JSON document, and the next command."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dsctl.core.ids import short_id
from dsctl.core.units import show_duration
from dsctl.model.lease import Offer
from dsctl.model.plan import Plan
from dsctl.model.profile import Profile
from dsctl.view.sink import Out
from dsctl.view.tables import SWEEP_COLUMNS, sweep_rows

if TYPE_CHECKING:
    from dsctl.flow.bench import Measured
    from dsctl.flow.inspect import Standing
    from dsctl.flow.profiles import Entry, Loaded
    from dsctl.flow.teardown import TornDown
    from dsctl.flow.up import Ready

SIMULATED = "SIMULATED: no figure here says anything about real engines"


def show_choice(out: Out, profile: Profile, plan: Plan, offer: Offer) -> None:
    """What is about to be done, and the most it can cost."""
    worst = offer.usd_per_hour * profile.limits.ttl / 3600
    cost = f"${worst:.2f} est. at most (${offer.usd_per_hour:.2f}/h x {show_duration(profile.limits.ttl)})"
    out.say(f"{profile.name}: {profile.description or 'no description'}")
    out.record(
        {
            "roles": ", ".join(program.role for program in plan.programs),
            "where": offer.what,
            "cost": cost if offer.usd_per_hour else "free",
            "steps": str(len(plan.steps)),
        }
    )


def show_ready(out: Out, ready: Ready) -> None:
    out.document("dsctl.up/1", {**asdict(ready), "run": short_id(ready.run_id)})
    if out.mode == "quiet":
        out.lines([short_id(ready.run_id)])
    out.success(f"ready in {show_duration(ready.seconds)}")
    out.record(
        {
            "run": f"{ready.name} ({short_id(ready.run_id)})",
            "endpoint": f"{ready.endpoint}/v1",
            "model": ready.model,
            "roles": ", ".join(f"{role} {url}" for role, url in ready.roles.items()),
            "runbook": _short(ready.runbook),
            **({"note": SIMULATED} if ready.simulated else {}),
        }
    )
    out.hint(f"dsctl bench {ready.name}   then   dsctl teardown {ready.name}")


def show_measured(out: Out, measured: Measured) -> None:
    out.document("dsctl.bench-run/1", {**asdict(measured), "run": short_id(measured.run_id)})
    if measured.simulated:
        out.say(SIMULATED)
    out.table(SWEEP_COLUMNS, sweep_rows(measured.steps))
    for step in measured.steps:
        if not step["valid"]:
            out.warn(f"{step['rate']:g} req/s is not valid: {step['invalid_reason']}")
    for verdict in measured.verdicts:
        out.say(str(verdict["text"]))
    out.say(f"charts and samples: {_short(measured.folder)}")
    out.hint(f"dsctl runbook show {short_id(measured.run_id)}   or   dsctl teardown {measured.name}")


def show_torn_down(out: Out, results: Sequence[TornDown]) -> None:
    runs = [
        {"run": short_id(r.run_id), "name": r.name, "already": r.already, "evidence": dict(r.gone.evidence)}
        for r in results
    ]
    out.document("dsctl.teardown/1", {"runs": runs})
    if not results:
        out.success("nothing is up")
    for result in results:
        word = "was torn down before" if result.already else "is gone"
        out.success(f"{result.name} ({short_id(result.run_id)}) {word}")


def show_plan(out: Out, plan: Plan, shell: str) -> None:
    """``shell``: the commands as text, or empty for the table of steps."""
    out.document("dsctl.plan/1", plan.to_json())
    if shell:
        out.say(shell)
        return
    rows = [[step.id, step.title, ", ".join(step.needs) or "-"] for step in plan.steps]
    out.table(("step", "what", "after"), rows)
    out.hint(f"dsctl plan {plan.profile} --commands   shows every command")


def show_standings(out: Out, standings: Sequence[Standing]) -> None:
    out.document("dsctl.ps/1", {"runs": [_standing_json(standing) for standing in standings]})
    if not standings:
        out.hint("no run is up; dsctl up local-1p2d")
        return
    rows = [
        [
            standing.short,
            standing.row.name,
            standing.health,
            standing.row.lease.provider,
            show_duration(standing.age_s),
            show_duration(standing.ttl_left_s) if standing.row.alive else "-",
            f"${standing.row.lease.usd_per_hour:.2f}",
            standing.endpoint or "-",
        ]
        for standing in standings
    ]
    out.table(("run", "name", "health", "provider", "age", "ttl left", "$/h", "endpoint"), rows)


def show_standing(out: Out, standing: Standing) -> None:
    out.document("dsctl.ps-run/1", _standing_json(standing))
    if out.mode == "json":
        return
    out.record(
        {
            "run": f"{standing.row.name} ({standing.short})",
            "health": standing.health,
            "profile": standing.row.profile,
            "endpoint": standing.endpoint or "-",
            "age": show_duration(standing.age_s),
            "runbook": _short(standing.row.runbook),
        }
    )
    out.table(("program", "state"), [[name, state] for name, state in standing.programs.items()])


def _standing_json(standing: Standing) -> dict[str, Any]:
    row = standing.row
    return {
        "run": standing.short,
        "run_id": row.run_id,
        "name": row.name,
        "profile": row.profile,
        "provider": row.lease.provider,
        "health": standing.health,
        "programs": dict(standing.programs),
        "endpoint": standing.endpoint,
        "age_s": round(standing.age_s, 1),
        "ttl_left_s": round(standing.ttl_left_s, 1),
        "usd_per_hour": row.lease.usd_per_hour,
        "runbook": str(row.runbook),
    }


def show_runbooks(out: Out, manifests: Sequence[Mapping[str, Any]]) -> None:
    out.document("dsctl.runbook-ls/1", {"runs": list(manifests)})
    if not manifests:
        out.hint("no run was recorded here yet; dsctl up local-1p2d")
        return
    columns = ("run", "name", "started", "status", "ready", "delivered", "TTFT P50")
    out.table(columns, [_run_row(manifest) for manifest in manifests])


def _run_row(manifest: Mapping[str, Any]) -> list[str]:
    """With the rate that delivered most, and the TTFT it had there."""
    best: Mapping[str, Any] = max(manifest["bench"], key=lambda step: step["delivered_rate"], default=dict[str, Any]())
    ttft = best.get("ttft_p50_ms")
    label = " (sim)" if manifest["simulated"] else ""
    return [
        str(manifest["short"]),
        str(manifest["name"]),
        str(manifest["started"])[:16].replace("T", " "),
        f"{manifest['status']}{label}",
        show_duration(manifest["ready_seconds"]) if manifest["ready_seconds"] else "-",
        f"{best['delivered_rate']:.2f}/s{label}" if best else "-",
        f"{ttft:.0f} ms{label}" if ttft is not None else "-",
    ]


def show_runbook(out: Out, folder: Path, manifest: Mapping[str, Any], text: str) -> None:
    out.document("dsctl.runbook-show/1", {"folder": str(folder), "manifest": dict(manifest)})
    out.say(text)
    out.hint(f"{_short(folder)}")


def show_profiles(out: Out, entries: Sequence[Entry]) -> None:
    profiles = [
        {
            "name": entry.name,
            "source": entry.source,
            "path": str(entry.path),
            "description": entry.description,
            "roles": list(entry.roles),
            "simulated": entry.simulated,
            "broken": entry.broken,
        }
        for entry in entries
    ]
    out.document("dsctl.profile-ls/1", {"profiles": profiles})
    rows = [[entry.name, entry.source, entry.broken or entry.description] for entry in entries]
    out.table(("profile", "from", "what"), rows)


def show_checked(out: Out, loaded: Sequence[Loaded]) -> None:
    checked = [{"name": one.profile.name, "path": str(one.path), "digest": one.digest} for one in loaded]
    out.document("dsctl.profile-check/1", {"ok": True, "profiles": checked})
    for one in loaded:
        out.success(f"{one.path}: {one.profile.name} is valid")


def _short(path: Path) -> str:
    """Relative to where the person stands, when it lies below."""
    try:
        return str(path.relative_to(Path.cwd()))
    except ValueError:
        return str(path)
