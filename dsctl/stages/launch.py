"""Programs to steps: supervisord, then the store, the engines in parallel, and the front door last.

Each start is followed by its own readiness probe, which fails at once when the process dies. The store may start while
the model is still being made or pulled; engines wait for the store, the front door waits for the engines.
"""

from __future__ import annotations

from dsctl.model.program import Program
from dsctl.model.step import Put, Run, Step
from dsctl.stages.supervision import configuration, control

_CONF = "{run.dir}/supervisord.conf"


def steps(
    programs: tuple[Program, ...], gateway_config: str, environment: tuple[str, ...], model: tuple[str, ...]
) -> tuple[Step, ...]:
    """``environment``: steps that must be done before the store may start; ``model``: before an engine may."""
    order: dict[str, tuple[Program, ...]] = {
        kind: tuple(p for p in programs if p.kind == kind) for kind in ("store", "engine", "gateway")
    }
    ready_stores = tuple(_ready_id(p) for p in order["store"])
    ready_engines = tuple(_ready_id(p) for p in order["engine"])
    result = list(_supervisor(programs, gateway_config))
    up = ("launch/box/supervisord", "bootstrap/box/start", "bootstrap/box/sweep")
    for program in order["store"]:
        result += _program(program, (*up, *environment))
    for program in order["engine"]:
        result += _program(program, (*up, *ready_stores, *model))
    for program in order["gateway"]:
        result += _program(program, (*up, *ready_engines, "launch/box/gateway-config"))
    return tuple(result)


def _supervisor(programs: tuple[Program, ...], gateway_config: str) -> tuple[Step, ...]:
    def put(name: str, title: str, path: str, text: str) -> Step:
        return Step(f"launch/box/{name}", "launch", "box", title, Put(path, text))

    start = Step(
        id="launch/box/supervisord",
        phase="launch",
        role="box",
        title="Start supervisord",
        action=Run(
            ("{dsctl.python}", "-m", "supervisor.supervisord", "-c", _CONF), log="{run.dir}/logs/supervisord.log"
        ),
        needs=("launch/box/supervisor-config",),
        guard=control("pid"),
        timeout_s=30,
    )
    return (
        put("supervisor-config", "Write the supervisor's configuration", _CONF, configuration(programs)),
        put("gateway-config", "Write the front door's configuration", "{run.dir}/gateway.json", gateway_config),
        start,
    )


def _program(program: Program, needs: tuple[str, ...]) -> tuple[Step, Step]:
    role, log = program.role, f"{{run.dir}}/logs/{program.role}.log"
    start = Step(
        id=f"launch/{role}/start",
        phase="launch",
        role=role,
        title=f"Start {role}",
        action=Run(control("start", role), log=log),
        needs=needs,
        guard=control("status", role),
        timeout_s=30,
    )
    probe = (
        "{box.python}", "{run.dir}/bin/probe.py", program.health, "--timeout", f"{program.boot_s:g}",
        "--socket", "{run.socket}", "--program", role,
    )  # fmt: skip
    ready = Step(
        id=_ready_id(program),
        phase="launch",
        role=role,
        title=f"Wait until {role} answers",
        action=Run(probe, log=log),
        needs=(start.id, "bootstrap/box/probe"),
        timeout_s=program.boot_s + 15,
        not_ready=True,
    )
    return start, ready


def _ready_id(program: Program) -> str:
    return f"launch/{program.role}/ready"
