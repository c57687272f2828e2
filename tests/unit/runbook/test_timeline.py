"""The waterfall shows what took time; the critical path is the chain that decided it."""

from __future__ import annotations

from dsctl.runbook.fold import StepState, fold
from dsctl.runbook.timeline import critical_path, timeline
from tests.story import event, opened, starting, step


def _state(step_id: str, at: float, seconds: float | None) -> StepState:
    return StepState(step_id, step_id.partition("/")[0], "", (), at, "ran" if seconds else "started", seconds)


def _ids(steps: list[StepState]) -> list[str]:
    return [one.id for one in steps]


def test_the_plan_says_who_waited_for_whom() -> None:
    """The long install ends just before the launch, but the launch needed the model only."""
    steps = [_state("b/install", 0, 30), _state("w/model", 0, 29.99), _state("l/start", 30.01, 5)]
    assert _ids(critical_path(steps, {"l/start": ("w/model",)})) == ["w/model", "l/start"]
    assert _ids(critical_path(steps, {})) == ["b/install", "l/start"]


def test_of_two_needs_the_later_one_decided() -> None:
    steps = fold([*opened(), *starting()]).steps
    needs = {"launch/gateway/ready": ("launch/prefill0/ready", "launch/decode0/ready")}
    assert _ids(critical_path(steps, needs)) == [
        "bootstrap/box/engine-env", "launch/decode0/ready", "launch/gateway/ready", "ready/gateway/chat",
    ]  # fmt: skip


def test_steps_that_never_ended_and_steps_of_no_length_end_no_search() -> None:
    steps = [_state("a/x", 0, 0.001), _state("a/y", 0, 0.001), _state("a/z", 0, None)]
    assert len(critical_path(steps, {"a/x": ("a/y",), "a/y": ("a/x",)})) == 2
    assert critical_path([], {}) == []


def test_waterfall() -> None:
    begun = event(50, "step.started", step="launch/b/ready", phase="launch", role="b", title="", argv=[])
    events = [*step(0, 50, "weights/box/model"), *step(1, 0.2, "launch/a/put"), begun]
    text = timeline(fold(events).steps, {})
    assert "weights/box/model |################################|    50s ran\n" in text
    assert "launch/b/ready    |                               ?|      - not ended\n" in text
    assert "launch/a/put" not in text
    assert "Critical path, 50s of 50s: weights/box/model (50s)" in text


def test_bench_and_teardown_are_no_part_of_the_way_to_ready() -> None:
    assert timeline(fold([*step(0, 5, "bench/1/sweep"), *step(9, 5, "teardown/box/x")]).steps, {}) == ""


def test_a_failed_step_is_shown_however_short() -> None:
    assert "failed" in timeline(fold(step(0, 0.1, "launch/a/start", status="failed")).steps, {})
