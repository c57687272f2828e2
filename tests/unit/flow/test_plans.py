"""The plan of every shipped profile, as the commands a person would copy: a change of any flag shows here."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from dsctl.flow.compile import commands_text, compile_plan
from dsctl.model.plan import plan_from_json
from dsctl.model.step import Put, Run, slots_in
from tests.profiles import SHIPPED, shipped

GOLDEN = Path(__file__).resolve().parents[2] / "golden" / "plans"
_DIGEST = re.compile(r"sha256 [0-9a-f]{64}")
BOX_SLOTS = {
    "run.id", "run.short", "run.dir", "run.tmp", "run.shm", "run.socket", "box.python", "dsctl.python", "engine.root",
    "model.root", "engine.dir", "model.dir",
}  # fmt: skip


@pytest.mark.parametrize("name", SHIPPED)
def test_commands_are_the_golden_ones(name: str) -> None:
    text = _DIGEST.sub("sha256 ...", commands_text(compile_plan(shipped(name))))
    path = GOLDEN / f"{name}.sh"
    if os.environ.get("DSCTL_UPDATE_GOLDEN"):
        path.write_text(text)
    assert text == path.read_text()


@pytest.mark.parametrize("name", SHIPPED)
def test_a_plan_is_repeatable_and_survives_storage(name: str) -> None:
    plan, again = compile_plan(shipped(name)), compile_plan(shipped(name))
    assert plan.digest() == again.digest()
    assert plan_from_json(plan.to_json()).steps == plan.steps


@pytest.mark.parametrize("name", SHIPPED)
def test_every_slot_has_a_value_in_the_plan_or_on_the_box(name: str) -> None:
    plan = compile_plan(shipped(name))
    for step in plan.steps:
        action = step.action
        texts = [*step.guard, *((action.path, action.text) if isinstance(action, Put) else ())]
        if isinstance(action, Run):
            texts += [*action.argv, *action.env.values(), action.log]
        unknown = {slot for text in texts for slot in slots_in(text)} - plan.slots.keys() - BOX_SLOTS
        assert not unknown, f"{step.id}: {unknown}"


@pytest.mark.parametrize("name", SHIPPED)
def test_ids_are_unique_and_needs_point_at_steps(name: str) -> None:
    plan = compile_plan(shipped(name))
    ids = [step.id for step in plan.steps]
    assert len(ids) == len(set(ids))
    assert all(need in ids for step in plan.steps for need in step.needs)


def test_the_store_comes_first_then_engines_then_the_front_door() -> None:
    plan = compile_plan(shipped("local-1p2d"))
    needs = {step.id: set(step.needs) for step in plan.steps}
    for role in ("prefill0", "decode0", "decode1"):
        assert "launch/lmcache/ready" in needs[f"launch/{role}/start"]
        assert f"launch/{role}/ready" in needs["launch/gateway/start"]


def test_one_changed_value_changes_the_digest() -> None:
    profile = shipped("local-1p2d")
    other = profile.model_copy(update={"kv": profile.kv.model_copy(update={"chunk_tokens": 512})})
    assert compile_plan(profile).digest() != compile_plan(other).digest()


def test_engine_arguments_of_the_profile_win() -> None:
    engine = {"args": {"max-num-seqs": 4, "enforce-eager": False, "trust-remote-code": True}}
    (program,) = [p for p in compile_plan(shipped("local-mono", engine=engine)).programs if p.kind == "engine"]
    assert program.argv[program.argv.index("--max-num-seqs") + 1] == "4"
    assert "--enforce-eager" not in program.argv
    assert "--trust-remote-code" in program.argv
