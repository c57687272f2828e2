"""Knows how a run reads: README.md and manifest.json, rendered from the journal and the plan, never edited."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dsctl.core.units import show_duration, show_size
from dsctl.model.plan import Plan, plan_from_json
from dsctl.runbook.commands import shell_text
from dsctl.runbook.fold import Measurement, RunState, StepState, fold
from dsctl.runbook.journal import read
from dsctl.runbook.manifest import manifest

_BAR = 40
_SHORTEST_SHOWN_S = 0.5
_SWEEP_HEAD = (
    "| asked req/s | sent | delivered | TTFT P50 ms | P95 | P99 | ITL P50 ms | P99 | reused | ideal | errors | valid |"
    "\n|---|---|---|---|---|---|---|---|---|---|---|---|"
)
_VERDICTS = {
    "ready": "up and serving when this was written",
    "torn-down": "ran and was torn down; nothing of it is left",
    "failed": "failed",
    "crashed": "stopped without an end: the writing process was killed",
    "opening": "was still starting when this was written",
    "teardown-unconfirmed": "TEARDOWN NOT CONFIRMED: something may still be running",
}


def write_reports(folder: Path) -> RunState:
    """Render README.md and manifest.json anew; returns the state they show."""
    state = fold(read(folder))
    plan_path = folder / "plan.json"
    plan = plan_from_json(json.loads(plan_path.read_text())) if plan_path.exists() else None
    (folder / "manifest.json").write_text(json.dumps(manifest(state), indent=2) + "\n")
    (folder / "README.md").write_text(readme(state, plan))
    return state


def readme(state: RunState, plan: Plan | None) -> str:
    """The whole story; the same events give the same bytes."""
    parts = [
        _head(state),
        _failure(state),
        _facts(state.facts),
        _timeline(state.steps),
        _ready(state),
        *(_bench(measurement, simulated=state.simulated) for measurement in state.benches),
        _teardown(state.gone),
        _commands(state, plan),
    ]
    return "\n".join(part for part in parts if part)


def _head(state: RunState) -> str:
    identity = state.identity
    simulated = "\n> **SIMULATED.** The engines are simulated; no figure here says anything about real ones.\n"
    phases = ", ".join(f"{name} {show_duration(seconds)}" for name, seconds in state.phases.items())
    ready = f"- ready after {show_duration(state.ready['seconds'])}\n" if state.ready else ""
    return f"""\
# {identity.get("name", "run")} ({identity.get("short", "")}): {state.status}

<!-- Generated from events.jsonl by dsctl. Never edit: the next command writes it anew. -->
{simulated if state.simulated else ""}
This run {_VERDICTS.get(state.status, state.status)}.

- profile `{identity.get("profile", "")}` on provider `{identity.get("provider", "")}`, \
dsctl {identity.get("dsctl_version", "")}
- started {state.started}{f", ended {state.ended}" if state.ended else ""}
{ready}- phases: {phases or "none finished"}
- run id `{identity.get("run_id", "")}`, plan digest `{state.plan_digest[:16]}`
"""


def _failure(state: RunState) -> str:
    failure = state.failure
    if not failure:
        return ""
    context = "\n".join(str(line) for line in failure.get("context") or ())
    shown = f"\n```\n{context}\n```\n" if context else ""
    hint = f"\nHint: {failure['hint']}\n" if failure.get("hint") else ""
    return f"## What failed\n\n**{failure['message']}** (exit {failure['exit']})\n{shown}{hint}"


def _facts(facts: Mapping[str, Any]) -> str:
    if not facts:
        return ""
    gpus = ", ".join(f"{gpu.get('name')} {gpu.get('memory')}" for gpu in facts["gpus"]) or "none"
    return f"""\
## The box

- {facts["cpu"] or facts["machine"]}, {facts["cpus"]} CPUs, {show_size(facts["memory_total"])} memory, \
{facts["system"]} {facts["kernel"]}
- GPUs: {gpus}
"""


def _timeline(steps: Sequence[StepState]) -> str:
    """A waterfall of what took time, and the chain of steps that decided how long it all took."""
    shown = [s for s in steps if s.seconds is None or s.seconds >= _SHORTEST_SHOWN_S or s.status == "failed"]
    shown = [step for step in shown if step.phase not in ("bench", "teardown")]
    if not shown:
        return ""
    end = max(step.at + (step.seconds or 0.0) for step in shown)
    width = max(len(step.id) for step in shown)
    lines = [_bar(step, end, width) for step in shown]
    path = " -> ".join(f"{step.id} ({show_duration(step.seconds or 0)})" for step in critical_path(shown))
    return "## Timeline\n\n```\n" + "\n".join(lines) + f"\n```\n\nCritical path: {path}\n"


def _bar(step: StepState, end: float, width: int) -> str:
    seconds = step.seconds or 0.0
    start, length = round(_BAR * step.at / end), max(1, round(_BAR * seconds / end))
    bar = (" " * start + "#" * length)[:_BAR].ljust(_BAR)
    took = show_duration(seconds) if step.seconds is not None else "never ended"
    return f"{step.id:<{width}} |{bar}| {took:>7} {step.status}"


def critical_path(steps: Sequence[StepState]) -> list[StepState]:
    """Backwards from the last step to end: each time the step that ended last before this one began."""
    path: list[StepState] = []
    limit = float("inf")
    while True:
        before = [s for s in steps if s.seconds is not None and s.at + s.seconds <= limit + 0.05 and s not in path]
        if not before:
            return path[::-1]
        last = max(before, key=lambda s: s.at + (s.seconds or 0.0))
        path.append(last)
        limit = last.at


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

{evidence}
"""


def _bench(measurement: Measurement, *, simulated: bool) -> str:
    workload = ", ".join(f"{key} {value}" for key, value in measurement.workload.items())
    label = " (simulated)" if simulated else " (measured)"
    folder = f"artifacts/bench-{measurement.number}"
    rows = "\n".join(_bench_row(step) for step in measurement.steps)
    bad = [step for step in measurement.steps if not step["valid"]]
    invalid = "".join(f"- {step['rate']:g} req/s is not valid: {step['invalid_reason']}\n" for step in bad)
    return f"""\
## Bench {measurement.number}{label}: {measurement.status}

Workload: {workload}; seed {measurement.seed}. TTFT from the moment of sending.

{_SWEEP_HEAD}
{rows}

{invalid}
![asked against delivered]({folder}/asked-vs-delivered.svg)
![TTFT]({folder}/ttft.svg)
![reuse]({folder}/reuse.svg)
"""


def _bench_row(step: Mapping[str, Any]) -> str:
    ttft, itl, reuse = step["ttft_ms"], step["itl_ms"], step["reuse"]
    cells = (
        f"{step['rate']:g}", f"{step['sent_rate']:.2f}", f"{step['delivered_rate']:.2f}",
        *(_number(ttft.get(key)) for key in ("p50", "p95", "p99")),
        *(_number(itl.get(key)) for key in ("p50", "p99")),
        _share(reuse["measured"]), _share(reuse["ideal"]), str(sum(step["errors"].values())),
        "yes" if step["valid"] else "**no**",
    )  # fmt: skip
    return f"| {' | '.join(cells)} |"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.1f}"


def _share(value: float | None) -> str:
    return "-" if value is None else f"{value * 100:.1f} %"


def _teardown(gone: Mapping[str, Any]) -> str:
    if not gone:
        return ""
    verdict = "Nothing is left" if gone["confirmed"] else f"**Still there:** {'; '.join(gone.get('remains', ()))}"
    evidence = json.dumps(gone.get("evidence", {}), indent=2)
    return f"## Teardown\n\n{verdict}. What the box said:\n\n```json\n{evidence}\n```\n"


def _commands(state: RunState, plan: Plan | None) -> str:
    if plan is None:
        return ""
    slots = {**plan.slots, **state.slots}
    rows = "\n".join(f"| `{name}` | `{value}` |" for name, value in sorted(slots.items()))
    steps = [step for step in plan.steps if step.phase != "bench"]
    return f"""\
## By hand

The same commands, to copy. Values that differ from box to box:

| slot | value |
|---|---|
{rows}

```sh
{shell_text(steps, slots)}```
"""
