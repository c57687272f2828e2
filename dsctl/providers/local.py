"""Knows this machine as a box: free, always there, and held by whatever runs in the run's own folder."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Callable, Mapping
from importlib.resources import files
from pathlib import Path

from dsctl.core.errors import UsageFault
from dsctl.core.ids import short_id
from dsctl.core.paths import cache_dir, state_dir
from dsctl.model.lease import Gone, Lease, Offer
from dsctl.model.profile import Profile
from dsctl.ports.host import Host

_SWEEP_S = 60.0


class LocalProvider:
    kind = "local"

    def __init__(self, make_host: Callable[[Mapping[str, str]], Host]) -> None:
        self._make_host = make_host

    def offers(self, profile: Profile) -> tuple[Offer, ...]:  # noqa: ARG002  this machine is all there is
        return (Offer(provider="local", id="this-machine", what="this machine", usd_per_hour=0.0),)

    def create(self, offer: Offer, run_id: str) -> Lease:
        layout = _layout(run_id)
        for path in (layout["run.dir"], layout["engine.root"], sys.executable):
            _refuse_odd(path)
        (Path(layout["run.dir"]) / "logs").mkdir(parents=True, exist_ok=True)
        Path(layout["run.tmp"]).mkdir(mode=0o700, exist_ok=True)
        return Lease("local", f"local:{short_id(run_id)}", run_id, offer.usd_per_hour, layout)

    def host(self, lease: Lease) -> Host:
        return self._make_host({"DSCTL_RUN": lease.run_id})

    def destroy(self, lease: Lease, ports: tuple[int, ...]) -> Gone:
        """End every process of the run and prove it, with the package's own script: the run's copy may be gone."""
        layout = lease.layout or _layout(lease.run_id)
        script = Path(layout["run.dir"]) / "bin" / "sweep.py"
        host = self.host(lease)
        host.put(str(script), files("dsctl").joinpath("box/sweep.py").read_bytes())
        argv = (
            sys.executable, str(script), "--run-id", lease.run_id, "--run-dir", layout["run.dir"],
            "--shm", layout["run.shm"], "--ports", ",".join(map(str, ports)),
        )  # fmt: skip
        done = host.run(argv, timeout_s=_SWEEP_S)
        if done.exit != 0:
            return Gone(clean=False, remains=(f"unknown: {done.output.strip()[-300:]}",), evidence={})
        evidence = json.loads(done.stdout.splitlines()[-1])
        remains = (
            *(f"process {pid}: {what}" for pid, what in evidence["remaining"].items()),
            *(f"shared memory {name}" for name in evidence["shm_left"]),
            *(f"port {port}" for port in evidence["ports_left"]),
        )
        if evidence["clean"]:
            shutil.rmtree(layout["run.tmp"], ignore_errors=True)
            shutil.rmtree(layout["run.dir"], ignore_errors=True)
        return Gone(clean=bool(evidence["clean"]), remains=remains, evidence=evidence)


def _layout(run_id: str) -> dict[str, str]:
    """Where a run's things lie on this machine; follows from its id alone."""
    short = short_id(run_id)
    tmp = f"/tmp/dsctl-{os.getuid()}-{short}"  # noqa: S108  Unix sockets lie here, and their paths must be short
    return {
        "run.id": run_id,
        "run.short": short,
        "run.dir": str(state_dir() / "box" / short),
        "run.shm": f"dsctl-{short}",
        "run.tmp": tmp,
        "run.socket": f"{tmp}/supervisor.sock",
        "box.python": sys.executable,
        "dsctl.python": sys.executable,
        "engine.root": str(cache_dir() / "engines"),
        "model.root": str(cache_dir() / "models"),
    }


def _refuse_odd(path: str) -> None:
    if any(c in path for c in "'\"%\n;"):
        hint = "point DSCTL_STATE_DIR and DSCTL_CACHE_DIR at plain paths"
        raise UsageFault(f"the path {path!r} has a character that supervisord's configuration cannot hold", hint=hint)
