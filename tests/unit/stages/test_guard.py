from __future__ import annotations

from typing import Any

import pytest

from dsctl.stages.guard import shortfalls
from tests.profiles import shipped

PLENTY: dict[str, Any] = {
    "system": "Linux", "machine": "x86_64", "cpus": 8, "memory_available": 2**36, "disk_free": 2**40,
    "shm_free": 2**36, "pythons": ["3.11"], "uv": True, "gpus": [], "ports": {},
}  # fmt: skip


def test_a_box_with_plenty_has_no_shortfall() -> None:
    assert shortfalls(shipped("local-1p2d"), PLENTY, environment_present=False) == ()


@pytest.mark.parametrize(
    ("facts", "words", "hint"),
    [
        ({"ports": {"8000": ["pid 7: nginx"]}}, ("port 8000 (gateway)", "nginx"), "--set gateway.port="),
        ({"ports": {"6000": []}}, ("port 6000 (lmcache)", "another process"), "--set kv.port="),
        ({"ports": {"8101": []}}, ("port 8101 (decode0)",), "--set engine.base_port="),
        ({"memory_available": 2**30}, ("1.0 GiB memory is free", "needs 8.0 GiB"), "smaller topology"),
        ({"disk_free": 2**30}, ("1.0 GiB disk is free", "No space left on device"), "DSCTL_CACHE_DIR"),
        ({"cpus": 1}, ("1 CPUs are usable", "needs 2"), "hardware.cpus"),
        ({"uv": False, "pythons": ["3.12"]}, ("needs Python 3.11", "3.12"), "install uv"),
        ({"machine": "aarch64"}, ("Linux aarch64",), "use a box"),
    ],
)
def test_each_shortfall_says_what_there_is_and_what_to_change(
    facts: dict[str, Any], words: tuple[str, ...], hint: str
) -> None:
    (found,) = shortfalls(shipped("local-1p2d"), {**PLENTY, **facts}, environment_present=False)
    assert all(word in found.message for word in words)
    assert hint in found.hint


def test_shared_memory_counts_only_where_it_is_used() -> None:
    facts = {**PLENTY, "shm_free": 2**20}
    assert shortfalls(shipped("local-1p2d"), facts, environment_present=True) == ()
    profile = shipped("local-1p2d", kv={"mover": "lmcache_mp", "shared_memory": True})
    (found,) = shortfalls(profile, facts, environment_present=True)
    assert "1.0 MiB free" in found.message
    assert "2.0 GiB" in found.message
    assert "kv.l1_size" in found.hint


def test_all_shortfalls_are_said_at_once() -> None:
    facts = {**PLENTY, "memory_available": 0, "disk_free": 0, "ports": {"8000": [], "8100": []}}
    assert len(shortfalls(shipped("local-1p2d"), facts, environment_present=False)) == 4


def test_an_installed_environment_needs_neither_python_nor_much_disk() -> None:
    facts = {**PLENTY, "uv": False, "pythons": ["3.13"], "disk_free": 2 * 2**30}
    assert shortfalls(shipped("local-1p2d"), facts, environment_present=True) == ()


def test_the_simulation_needs_no_engine_python() -> None:
    facts = {**PLENTY, "uv": False, "pythons": ["3.13"]}
    assert shortfalls(shipped("local-sim"), facts, environment_present=True) == ()
