"""(Profile, facts of the box) to problems: everything that would make the run fail later, said before it starts."""

from __future__ import annotations

import errno
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dsctl.core.units import show_size
from dsctl.model.profile import Profile

ENVIRONMENT_BYTES = 6 * 2**30
"""The part of ``hardware.disk`` that installing an engine environment takes, its downloads included."""


@dataclass(frozen=True, slots=True)
class Shortfall:
    """``message`` says what is missing and how much there is; ``hint`` what to change."""

    message: str
    hint: str


def shortfalls(profile: Profile, facts: Mapping[str, Any], *, environment_present: bool) -> tuple[Shortfall, ...]:
    """Empty when the box fits. ``environment_present``: the engine environment is already installed."""
    found = (
        *_ports(profile, facts),
        *_sizes(profile, facts, environment_present=environment_present),
        *_python(profile, facts, environment_present=environment_present),
        *_devices(profile, facts),
    )
    return tuple(found)


def _ports(profile: Profile, facts: Mapping[str, Any]) -> list[Shortfall]:
    keys = {"gateway": "gateway.port", "lmcache": "kv.port", "lmcache http": "kv.http_port"}
    taken: Mapping[str, list[str]] = facts["ports"]
    return [
        Shortfall(
            f"port {port} ({role}) is in use by {'; '.join(taken[str(port)]) or 'another process'}",
            f"stop it, or choose another port: --set {keys.get(role, 'engine.base_port')}={port + 1000}",
        )
        for role, port in profile.ports.items()
        if str(port) in taken
    ]


def _sizes(profile: Profile, facts: Mapping[str, Any], *, environment_present: bool) -> list[Shortfall]:
    hardware = profile.hardware
    found: list[Shortfall] = []
    if facts["memory_available"] < hardware.memory:
        have, want = show_size(facts["memory_available"]), show_size(hardware.memory)
        hint = "end other programs, use a smaller topology, or lower hardware.memory if you know better"
        found.append(Shortfall(f"{have} memory is free, the profile needs {want}", hint))
    installed = environment_present and not profile.simulated
    disk = max(2**30, hardware.disk - ENVIRONMENT_BYTES) if installed else hardware.disk
    if facts["disk_free"] < disk:
        have, want = show_size(facts["disk_free"]), show_size(disk)
        hint = "free some disk, or point DSCTL_CACHE_DIR and DSCTL_STATE_DIR at a larger one"
        found.append(Shortfall(f"{have} disk is free, the profile needs {want} ({os.strerror(errno.ENOSPC)})", hint))
    needs_shm = profile.kv.mover == "lmcache_mp" and profile.kv.shared_memory
    if needs_shm and facts["shm_free"] < profile.kv.l1_size:
        have, want = show_size(facts["shm_free"]), show_size(profile.kv.l1_size)
        hint = "lower kv.l1_size, or enlarge /dev/shm (mount -o remount,size=...)"
        found.append(Shortfall(f"shared memory has {have} free, the shared store needs {want}", hint))
    if facts["cpus"] < hardware.cpus:
        hint = "use a smaller topology, or lower hardware.cpus if you know better"
        found.append(Shortfall(f"{facts['cpus']} CPUs are usable, the profile needs {hardware.cpus}", hint))
    return found


def _python(profile: Profile, facts: Mapping[str, Any], *, environment_present: bool) -> list[Shortfall]:
    if profile.simulated or environment_present or profile.engine.device != "cpu":
        return []
    if facts["uv"] or ENGINE_PYTHON in facts["pythons"]:
        return []
    have = ", ".join(facts["pythons"])
    hint = f"install uv (it brings Python {ENGINE_PYTHON}) or python{ENGINE_PYTHON}"
    return [Shortfall(f"the CPU engine environment needs Python {ENGINE_PYTHON}; this box has {have}", hint)]


ENGINE_PYTHON = "3.11"
"""The Python that the hash-pinned CPU build of torch is for."""


def _devices(profile: Profile, facts: Mapping[str, Any]) -> list[Shortfall]:
    found: list[Shortfall] = []
    if facts["system"] != "Linux" or facts["machine"] != "x86_64":
        where = f"{facts['system']} {facts['machine']}"
        found.append(Shortfall(f"this box is {where}; the engines run on Linux x86_64", "use a box that is"))
    if len(facts["gpus"]) < profile.hardware.gpus:
        have = len(facts["gpus"])
        found.append(Shortfall(f"{have} GPUs found, the profile needs {profile.hardware.gpus}", "see nvidia-smi"))
    return found
