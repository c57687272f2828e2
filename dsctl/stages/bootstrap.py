"""Profile to steps: what must lie on the box before anything can run. Scripts first, then the engine environment."""

from __future__ import annotations

from dsctl.core.digest import digest
from dsctl.model.step import Run, Step
from dsctl.stages.package import put_source, source_digest

SCRIPTS = ("facts", "probe", "start", "sweep", "verify", "engine_env", "synth_model")
INSTALL_S = 3600.0
_TORCH_LOCK = "torch-cpu"
"""The CPU build of torch comes from another place than everything else, so it has a lock of its own."""


def environment_digest(lock: str) -> str:
    """Names the environment's folder: the same locks give the same folder, on every run."""
    locks = (lock, *((_TORCH_LOCK,) if lock == "engine-cpu" else ()))
    return digest({name: source_digest(f"locks/{name}.txt") for name in locks})[:12] if lock else ""


def scripts() -> tuple[Step, ...]:
    return tuple(
        Step(
            id=f"bootstrap/box/{name}",
            phase="bootstrap",
            role="box",
            title=f"Put {name}.py on the box",
            action=put_source(f"box/{name}.py", f"{{run.dir}}/bin/{name}.py"),
        )
        for name in SCRIPTS
    )


def environment(lock: str, python: str) -> tuple[Step, ...]:
    """Build (or reuse) the engine environment for ``lock``; nothing for an engine that needs none."""
    if not lock:
        return ()
    names = (lock, *((_TORCH_LOCK,) if lock == "engine-cpu" else ()))
    puts = tuple(
        Step(
            id=f"bootstrap/box/lock-{name}",
            phase="bootstrap",
            role="box",
            title=f"Put the lock {name}.txt on the box",
            action=put_source(f"locks/{name}.txt", f"{{run.dir}}/locks/{name}.txt"),
        )
        for name in names
    )
    torch = ("--torch-lock", f"{{run.dir}}/locks/{_TORCH_LOCK}.txt") if lock == "engine-cpu" else ()
    argv = (
        "{box.python}", "{run.dir}/bin/engine_env.py", "--dir", "{engine.dir}",
        "--lock", f"{{run.dir}}/locks/{lock}.txt", *torch, "--python", python,
    )  # fmt: skip
    build = Step(
        id="bootstrap/box/engine-env",
        phase="bootstrap",
        role="box",
        title="Install the engine environment",
        action=Run(argv),
        needs=("bootstrap/box/engine_env", *(step.id for step in puts)),
        guard=("test", "-f", "{engine.dir}/.ready"),
        timeout_s=INSTALL_S,
    )
    return (*puts, build)
