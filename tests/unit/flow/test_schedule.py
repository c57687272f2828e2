from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dsctl.core.errors import ExpectationFailed, Interrupted, NotReady, StepFailed
from dsctl.flow.box import Box
from dsctl.flow.schedule import run_steps
from dsctl.model.step import Expect, Put, Run, Step
from dsctl.ports.host import Completed

Script = Callable[[tuple[str, ...], threading.Event], Completed]


class ScriptedHost:
    """A host whose commands do what the test says; remembers what was asked of it."""

    name = "scripted"

    def __init__(self, script: Script | None = None, files: dict[str, bytes] | None = None) -> None:
        self.ran: list[tuple[str, ...]] = []
        self.files = files or {}
        self._script = script or (lambda argv, cancel: ok())

    def run(
        self,
        argv: Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        timeout_s: float = 60.0,
        on_line: Callable[[str], None] | None = None,
        cancel: threading.Event | None = None,
    ) -> Completed:
        self.ran.append(tuple(argv))
        return self._script(tuple(argv), cancel or threading.Event())

    def put(self, path: str, data: bytes, mode: int = 0o644) -> None:
        self.files[path] = data

    def read(self, path: str, offset: int = 0, limit: int = -1) -> bytes:
        if path not in self.files:
            raise FileNotFoundError(path)
        return self.files[path]


def ok(stdout: str = "") -> Completed:
    return Completed(exit=0, stdout=stdout, output=stdout, seconds=0.0)


def failed(status: int, output: str = "boom") -> Completed:
    return Completed(exit=status, stdout=output, output=output, seconds=0.0)


class Events:
    def __init__(self) -> None:
        self.seen: list[tuple[str, dict[str, Any]]] = []

    def __call__(self, kind: str, **data: Any) -> None:
        self.seen.append((kind, data))

    def statuses(self) -> dict[str, str]:
        return {data["step"]: data["status"] for kind, data in self.seen if kind == "step.ended"}

    def order(self, kind: str) -> list[str]:
        return [data["step"] for seen, data in self.seen if seen == kind]


def step(name: str, needs: tuple[str, ...] = (), **more: Any) -> Step:
    return Step(name, "launch", "box", name, more.pop("action", Run((name,))), needs=needs, **more)


def run(steps: Sequence[Step], host: ScriptedHost, **slots: str) -> tuple[dict[str, Any], Events]:
    events = Events()
    observed = run_steps(steps, Box(host, slots), events)
    return dict(observed), events


@settings(max_examples=30, deadline=None)
@given(st.data())
def test_no_step_starts_before_what_it_needs_is_done(data: st.DataObject) -> None:
    count = data.draw(st.integers(1, 8))
    steps = [step(f"s{i}", tuple(f"s{j}" for j in range(i) if data.draw(st.booleans()))) for i in range(count)]
    shuffled = data.draw(st.permutations(steps))
    _, events = run(shuffled, ScriptedHost())
    kinds = [(kind, d["step"]) for kind, d in events.seen if kind in ("step.started", "step.ended")]
    for one in steps:
        for need in one.needs:
            assert kinds.index(("step.ended", need)) < kinds.index(("step.started", one.id))
    assert set(events.statuses().values()) == {"ran"}


def test_independent_steps_overlap() -> None:
    meeting = threading.Barrier(3, timeout=10)

    def script(argv: tuple[str, ...], cancel: threading.Event) -> Completed:
        meeting.wait()
        return ok()

    run([step("a"), step("b"), step("c")], ScriptedHost(script))


def test_a_guard_that_holds_leaves_the_step_unchanged() -> None:
    host = ScriptedHost()
    _, events = run([step("a", guard=("is-done",))], host)
    assert host.ran == [("is-done",)]
    assert events.statuses() == {"a": "unchanged"}


def test_a_put_fills_its_slots() -> None:
    host = ScriptedHost()
    run(
        [step("a", action=Put("{run.dir}/x", "port={gateway.port}"))], host, **{"run.dir": "/r", "gateway.port": "8000"}
    )
    assert host.files == {"/r/x": b"port=8000"}


def test_a_failure_stops_the_others_and_starts_nothing_more() -> None:
    def script(argv: tuple[str, ...], cancel: threading.Event) -> Completed:
        if argv == ("slow",):
            assert cancel.wait(10)
            return Completed(exit=-15, stdout="", output="", seconds=0.0, cancelled=True)
        return failed(1, "no such flag")

    host = ScriptedHost(script, files={"/log": b"the real reason\n"})
    events = Events()
    steps = [step("slow"), step("bad", action=Run(("bad",), log="/log")), step("after", ("bad",))]
    with pytest.raises(StepFailed, match="bad: exit status 1") as error:
        run_steps(steps, Box(host, {}), events)
    assert "no such flag" in error.value.context
    assert "the real reason" in error.value.context
    assert "run it by hand: bad" in error.value.hint
    assert events.statuses() == {"slow": "skipped", "bad": "failed"}
    assert ("phase.ended", "failed") in [(kind, d.get("status")) for kind, d in events.seen]


@pytest.mark.parametrize(
    ("done", "kind"),
    [
        (Completed(-15, "", "", 1.0, timed_out=True), NotReady),
        (failed(4, '{"ready": false, "error": "no answer"}'), NotReady),
        (failed(3, '{"ready": false, "error": "it died"}'), StepFailed),
    ],
)
def test_late_is_told_from_dead(done: Completed, kind: type[Exception]) -> None:
    host = ScriptedHost(lambda argv, cancel: done)
    with pytest.raises(kind) as error:
        run([step("probe", not_ready=True, timeout_s=1)], host)
    assert type(error.value) is kind


@pytest.mark.parametrize(
    ("expect", "holds"),
    [
        (Expect("a.b", ">=", 0.9), True),
        (Expect("a.b", ">=", 0.96), False),
        (Expect("a.b", "<=", 0.95), True),
        (Expect("name", "==", "lab"), True),
        (Expect("name", "contains", "la"), True),
        (Expect("absent", ">=", 1), False),
        (Expect("absent", "contains", "x"), False),
    ],
)
def test_expectations_are_held_against_the_last_json_line(expect: Expect, *, holds: bool) -> None:
    host = ScriptedHost(lambda argv, cancel: ok('noise\n{"a": {"b": 0.95}, "name": "lab"}\n'))
    if holds:
        observed, _ = run([step("v", expect=(expect,))], host)
        assert observed["v"]["name"] == "lab"
    else:
        with pytest.raises(ExpectationFailed, match="expected"):
            run([step("v", expect=(expect,))], host)


def test_a_full_disk_is_a_failed_step_with_a_hint() -> None:
    host = ScriptedHost()

    def put(path: str, data: bytes, mode: int = 0o644) -> None:
        raise OSError(28, "No space left on device", path)

    host.put = put  # type: ignore[method-assign]
    with pytest.raises(StepFailed, match="No space left") as error:
        run([step("a", action=Put("/x", ""))], host)
    assert "free some disk" in error.value.hint


def test_a_signal_in_the_main_thread_stops_running_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    stopped = threading.Event()

    def script(argv: tuple[str, ...], cancel: threading.Event) -> Completed:
        cancel.wait(10)
        stopped.set()
        return Completed(exit=-15, stdout="", output="", seconds=0.0, cancelled=True)

    def interrupted(*_: object, **__: object) -> object:
        raise Interrupted(2)

    monkeypatch.setattr("dsctl.flow.schedule.wait", interrupted)
    started = time.monotonic()
    with pytest.raises(Interrupted):
        run([step("a")], ScriptedHost(script))
    assert stopped.is_set()
    assert time.monotonic() - started < 5


def test_a_circle_of_needs_is_a_bug_not_a_hang() -> None:
    with pytest.raises(AssertionError, match="circle"):
        run([step("a", ("b",)), step("b", ("a",))], ScriptedHost())
