"""Many steps on one box: each starts as soon as what it needs is done, so what can overlap does."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import Any

from dsctl.flow.box import Box
from dsctl.flow.execute import execute
from dsctl.model.event import Emit
from dsctl.model.step import Phase, Step

_WORKERS = 16
_POLL_S = 0.25

Observed = Mapping[str, Any]


def run_steps(steps: Sequence[Step], box: Box, emit: Emit) -> dict[str, Observed]:
    """Run all steps in the order of their needs; needs outside ``steps`` count as done.

    Raises the first failure after every running step was stopped. A signal's exception, raised in the main thread
    while it waits here, stops them the same way.
    """
    run = _Run(steps, box, emit)
    try:
        run.to_the_end()
    finally:
        run.stop()
    return run.observed


class _Run:
    def __init__(self, steps: Sequence[Step], box: Box, emit: Emit) -> None:
        self.observed: dict[str, Observed] = {}
        self._waiting = {step.id: step for step in steps}
        self._box, self._emit = box, emit
        self._cancel = threading.Event()
        self._pool = ThreadPoolExecutor(_WORKERS, thread_name_prefix="step")
        self._running: dict[Future[Observed], Step] = {}
        self._phases = _Phases(steps, emit)

    def to_the_end(self) -> None:
        self._start_free()
        while self._running:
            done, _ = wait(self._running, timeout=_POLL_S, return_when=FIRST_COMPLETED)
            for future in done:
                step = self._running.pop(future)
                self.observed[step.id] = future.result()
                self._phases.ended(step)
            self._start_free()
        if self._waiting:
            raise AssertionError(f"steps need each other in a circle: {sorted(self._waiting)}")

    def stop(self) -> None:
        """End what still runs; later failures are consequences and stay in the journal only."""
        self._cancel.set()
        self._pool.shutdown(wait=True, cancel_futures=True)
        for future, step in self._running.items():
            if not future.cancelled():
                future.exception()
                self._phases.ended(step)
        self._phases.close()

    def _start_free(self) -> None:
        unfinished = self._waiting.keys() | {step.id for step in self._running.values()}
        for step in [s for s in self._waiting.values() if not unfinished.intersection(s.needs)]:
            del self._waiting[step.id]
            self._phases.started(step)
            self._running[self._pool.submit(execute, step, self._box, self._emit, self._cancel)] = step


class _Phases:
    """Says when a phase begins (its first step) and ends (its last)."""

    def __init__(self, steps: Sequence[Step], emit: Emit) -> None:
        self._left: dict[Phase, int] = {}
        for step in steps:
            self._left[step.phase] = self._left.get(step.phase, 0) + 1
        self._begun: dict[Phase, float] = {}
        self._emit = emit

    def started(self, step: Step) -> None:
        if step.phase not in self._begun:
            self._begun[step.phase] = time.monotonic()
            self._emit("phase.started", phase=step.phase)

    def ended(self, step: Step) -> None:
        self._left[step.phase] -= 1
        if self._left[step.phase] == 0:
            self._close(step.phase, "done")

    def close(self) -> None:
        for phase in list(self._begun):
            self._close(phase, "failed")

    def _close(self, phase: Phase, status: str) -> None:
        begun = self._begun.pop(phase, None)
        if begun is not None:
            self._emit("phase.ended", phase=phase, status=status, seconds=round(time.monotonic() - begun, 3))
