"""Knows how a run reads: README.md, rendered from the journal, the plan and the profile, never edited."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dsctl.core.errors import DsctlError
from dsctl.core.units import show_duration, show_size
from dsctl.runbook.addresses import hide_addresses
from dsctl.runbook.commands import shell_text
from dsctl.runbook.fold import RunState, RunStatus
from dsctl.runbook.folder import write_text
from dsctl.runbook.recorded import Recorded, recorded, write_manifest
from dsctl.runbook.sweep import SIMULATED, sweep
from dsctl.runbook.timeline import timeline

_VERDICTS: dict[RunStatus, str] = {
    "opening": "This run was still starting when this was written",
    "running": "This run was still starting when this was written",
    "ready": "This run was up and serving when this was written",
    "benching": "This run was up and being measured when this was written",
    "tearing-down": "This run was being torn down when this was written",
    "torn-down": "This run served and was torn down; nothing of it is left",
    "failed": "This run failed before it was ready",
    "interrupted": "This run was interrupted before it was ready",
    "crashed": "The process that wrote this run was killed before the run was ready",
    "teardown-unconfirmed": "**TEARDOWN NOT CONFIRMED: something may still be running.**",
}


def write_reports(folder: Path) -> RunState:
    """Render README.md and manifest.json anew; returns the state they show. Raises DsctlError."""
    run = recorded(folder)
    try:
        write_manifest(run)
        write_text(folder / "README.md", readme(run))
    except OSError as error:
        hint = "nothing is lost: the journal is whole, and both are rendered from it again"
        raise DsctlError(f"the report in {folder} cannot be written: {error.strerror}", hint=hint) from error
    return run.state


def readme(run: Recorded, *, commands: bool = True) -> str:
    """The whole story; the same events give the same bytes. Without ``commands`` the part to copy is left out."""
    state = run.state
    needs = {step.id: step.needs for step in run.plan.steps} if run.plan else {}
    parts = [
        _head(run),
        _failure(state.failure),
        _what(run),
        _facts(state.facts),
        timeline(state.steps, needs),
        _ready(state),
        *(sweep(bench, simulated=state.simulated) for bench in state.benches),
        _teardown(state.gone),
        _commands(run) if commands else "",
    ]
    return hide_addresses("\n".join(part for part in parts if part))


def _head(run: Recorded) -> str:
    state, identity = run.state, run.state.identity
    phases = ", ".join(f"{name} {show_duration(seconds)}" for name, seconds in state.phases.items())
    how = "measured, with simulated engines" if state.simulated else "measured"
    ready = f"- ready after {show_duration(state.ready['seconds'])} ({how})\n" if state.ready.get("seconds") else ""
    under_way = f"- under way: {', '.join(state.phase)}\n" if state.status == "running" else ""
    damage = "".join(f"> **The journal is not sound:** {problem}.\n" for problem in run.problems)
    banners = "\n".join(part for part in (SIMULATED if state.simulated else "", damage) if part)
    verdict = _VERDICTS[state.status]
    return f"""\
# {identity.get("name", "run")} ({identity.get("short", "")}): {state.status}

<!-- Generated from events.jsonl by dsctl. Never edit: the next command writes it anew. -->

{f"{banners}{chr(10)}" if banners else ""}{verdict}{"" if verdict.endswith("*") else "."}

- started {state.started}{f", ended {state.ended}" if state.ended else ""}
{ready}{under_way}- phases: {phases or "none finished"}
- run id `{identity.get("run_id", "")}`, plan digest `{state.plan_digest[:16]}`
"""


def _failure(failure: Mapping[str, Any]) -> str:
    if not failure:
        return ""
    context = "\n".join(str(line) for line in failure.get("context") or ())
    shown = f"\n{_fenced(context)}\n" if context else ""
    hint = f"\nHint: {failure['hint']}\n" if failure.get("hint") else ""
    return f"## What failed\n\n**{failure['message']}** (exit {failure['exit']})\n{shown}{hint}"


def _what(run: Recorded) -> str:
    identity, profile = run.state.identity, run.profile
    engine, model = profile.get("engine", {}), profile.get("model", {})
    versions = f", vLLM {engine['vllm']}, LMCache {engine['lmcache']}" if engine.get("kind") == "vllm" else ""
    weights = model.get("repo") or " ".join(str(model[key]) for key in ("kind", "architecture") if key in model)
    overrides = ", ".join(f"`{override}`" for override in run.overrides)
    rows = (
        f"- profile `{identity.get('profile', '')}` on provider `{identity.get('provider', '')}`",
        f"- dsctl {identity.get('dsctl_version', '')}{versions}",
        f"- changed on the command line: {overrides}" if overrides else "",
        f"- model: {weights}, served as `{profile.get('served_name', '')}`" if weights else "",
        f"- programs: {_programs(run)}" if run.plan else "",
        f"- KV moves by `{profile['kv']['mover']}`" if "kv" in profile else "",
    )
    return "## What was run\n\n" + "".join(f"{row}\n" for row in rows if row)


def _programs(run: Recorded) -> str:
    programs = run.plan.programs if run.plan else ()
    return ", ".join(f"{p.role} ({p.kind}, port {', '.join(map(str, p.ports))})" for p in programs)


def _facts(facts: Mapping[str, Any]) -> str:
    if not facts:
        return ""
    gpus = ", ".join(
        " ".join(str(gpu[key]) for key in ("name", "memory", "driver") if key in gpu) for gpu in facts["gpus"]
    )
    return f"""\
## The box

- {facts["cpu"] or facts["machine"]}, {facts["cpus"]} CPUs, {show_size(facts["memory_total"])} memory, \
{facts["system"]} {facts["kernel"]}
- GPUs: {gpus or "none"}
"""


def _ready(state: RunState) -> str:
    if not state.ready:
        return ""
    evidence = "\n".join(
        f"- {step.title}: `{json.dumps(dict(step.observed), ensure_ascii=False)}`"
        for step in state.steps
        if step.phase == "ready" and step.observed
    )
    return f"""\
## Ready

Endpoint `{state.ready["endpoint"]}/v1`, model `{state.ready["model"]}`.

{evidence or "No check of the serving path left evidence."}
"""


def _teardown(gone: Mapping[str, Any]) -> str:
    if not gone:
        return ""
    verdict = "Nothing is left" if gone["confirmed"] else f"**Still there:** {'; '.join(gone.get('remains', ()))}"
    evidence = json.dumps(gone.get("evidence", {}), indent=2, ensure_ascii=False)
    return f"## Teardown\n\n{verdict}. What the box said:\n\n{_fenced(evidence, 'json')}\n"


def _commands(run: Recorded) -> str:
    if run.plan is None:
        return ""
    slots = {**run.plan.slots, **run.state.slots}
    rows = "\n".join(f"| `{name}` | `{_cell(value)}` |" for name, value in sorted(slots.items()))
    steps = [step for step in run.plan.steps if step.phase != "bench"]
    return f"""\
## By hand

The same commands, to copy. Values that differ from box to box, filled in below:

| slot | value |
|---|---|
{rows}

{_fenced(shell_text(steps, slots).rstrip(), "sh")}
"""


def _fenced(text: str, language: str = "") -> str:
    """A fence longer than any in the text, so that nothing a program printed ends it."""
    longest = max((len(run) for run in re.findall(r"`{3,}", text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}{language}\n{text}\n{fence}"


def _cell(value: str) -> str:
    return value.replace("|", "\\|")
