"""Parts of the real stack are killed under traffic: nothing hangs, the supervisor brings them back, service goes on."""

from __future__ import annotations

import json
import os
import signal
import threading
import time
import urllib.error
import urllib.request
from typing import Any, Self

import pytest

from tests.e2e.conftest import Stack
from tests.e2e.test_stack import complete, tokens

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(1500)]

DEADLINE_S = 65
"""The front door's own: first token within 60 s, and some slack for a loaded machine."""
BACK_S = 150
PROGRAMS = ("lmcache", "prefill0", "decode0", "decode1", "gateway")


class Traffic:
    """A request every half second, in threads, until stopped; remembers how each ended and how long it took."""

    def __init__(self, url: str) -> None:
        self.outcomes: list[tuple[str, float]] = []
        self._url, self._stop = url, threading.Event()
        self._threads: list[threading.Thread] = []
        self._driver = threading.Thread(target=self._drive)

    def __enter__(self) -> Self:
        self._driver.start()
        time.sleep(2)
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._driver.join(10)
        for thread in self._threads:
            thread.join(DEADLINE_S + 30)
        assert not any(thread.is_alive() for thread in self._threads), "a request hangs"

    def _drive(self) -> None:
        seed = time.time_ns()
        while not self._stop.wait(0.5):
            seed += 1
            thread = threading.Thread(target=self._ask, args=(seed,))
            thread.start()
            self._threads.append(thread)

    def _ask(self, seed: int) -> None:
        started = time.monotonic()
        try:
            complete(self._url, tokens(seed, 600))
            outcome = "ok"
        except urllib.error.HTTPError as error:
            outcome = f"http {error.code}"
        except (OSError, ValueError) as error:
            outcome = type(error).__name__
        self.outcomes.append((outcome, time.monotonic() - started))


def programs(stack: Stack) -> dict[str, Any]:
    (document,) = stack.cli.json_lines("ps", "local-1p2d")
    return document["programs"]


def pid_of(stack: Stack, role: str) -> int:
    from dsctl.box.probe import process_info  # noqa: PLC0415

    return int(process_info(stack.slots()["run.socket"], role)["pid"])


def wait_back(stack: Stack, role: str, old: int, health: str) -> None:
    deadline = time.monotonic() + BACK_S
    while time.monotonic() < deadline:
        if pid_of(stack, role) not in (0, old) and _answers(health):
            return
        time.sleep(0.5)
    raise AssertionError(f"{role} did not come back: {json.dumps(programs(stack))}")


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=2) as reply:
            return reply.status == 200
    except OSError:
        return False


def health_of(stack: Stack, role: str) -> str:
    return "http://127.0.0.1:6080/healthcheck" if role == "lmcache" else stack.up["roles"][role] + "/health"


@pytest.mark.parametrize("role", ["lmcache", "decode0", "prefill0"])
def test_a_killed_part_comes_back_and_no_request_hangs(stack: Stack, role: str) -> None:
    old = pid_of(stack, role)
    others = {name: pid_of(stack, name) for name in PROGRAMS if name != role}
    with Traffic(stack.endpoint) as traffic:
        os.kill(old, signal.SIGKILL)
        wait_back(stack, role, old, health_of(stack, role))
    assert traffic.outcomes
    slowest = max(seconds for _, seconds in traffic.outcomes)
    assert slowest < DEADLINE_S, sorted(traffic.outcomes, key=lambda o: -o[1])[:5]
    served = sum(outcome == "ok" for outcome, _ in traffic.outcomes)
    assert served >= len(traffic.outcomes) // 2, traffic.outcomes
    for seed in range(4):
        answer = complete(stack.endpoint, tokens(time.time_ns() + seed, 600))
        assert len(answer["choices"][0]["token_ids"]) == 24
    assert set(programs(stack).values()) == {"running"}
    assert {name: pid_of(stack, name) for name in others} == others, "another part died with it"
