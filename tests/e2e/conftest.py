"""One real stack for the whole session: three vLLM engines, an LMCache server and the front door, through the CLI."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.leftovers import Leftovers

UP_S = 1200
"""The first run installs the engine environment."""


@dataclass(frozen=True)
class Cli:
    """The real command line in its own folders; only the engine environment's cache is shared with the person's."""

    env: dict[str, str]
    cwd: Path

    def __call__(self, *words: str, timeout_s: float = 300) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "dsctl", *words]
        return subprocess.run(
            command, env=self.env, cwd=self.cwd, capture_output=True, text=True, timeout=timeout_s, check=False
        )

    def json_lines(self, *words: str, timeout_s: float = 300) -> list[dict[str, Any]]:
        done = self(*words, "--json", timeout_s=timeout_s)
        assert done.returncode == 0, done.stderr[-4000:]
        return [json.loads(line) for line in done.stdout.splitlines()]


@dataclass(frozen=True)
class Stack:
    cli: Cli
    up: dict[str, Any]
    events: list[dict[str, Any]]

    @property
    def endpoint(self) -> str:
        return self.up["endpoint"]

    def slots(self) -> dict[str, str]:
        return next(event["data"]["slots"] for event in self.events if event.get("kind") == "host.reached")


def make_cli(folder: Path) -> Cli:
    cache = os.environ.get("DSCTL_TEST_CACHE") or str(Path.home() / ".cache" / "dsctl")
    env = {
        **os.environ,
        "DSCTL_STATE_DIR": str(folder / "state"),
        "DSCTL_RUNBOOKS": str(folder / "runbooks"),
        "DSCTL_CACHE_DIR": cache,
        "DSCTL_PLAIN": "1",
    }
    return Cli(env, folder)


@pytest.fixture(scope="session")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    cli = make_cli(tmp_path_factory.mktemp("stack"))
    with Leftovers():
        try:
            lines = cli.json_lines("up", "local-1p2d", "--yes", timeout_s=UP_S)
            yield Stack(cli, lines[-1], lines[:-1])
        finally:
            done = cli("teardown", "--all", "--yes")
            assert done.returncode == 0, done.stderr


@pytest.fixture
def sim_cli(tmp_path: Path) -> Iterator[Cli]:
    """For tests of the whole path on simulated engines: seconds, not minutes."""
    cli = make_cli(tmp_path)
    with Leftovers():
        yield cli
        cli("teardown", "--all", "--yes")
