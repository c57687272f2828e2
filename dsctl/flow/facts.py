"""Ask the box what it is, by the script that lies on it."""

from __future__ import annotations

import json
from typing import Any

from dsctl.core.errors import StepFailed
from dsctl.flow.box import Box

_LOOK_S = 60.0


def look(box: Box, ports: tuple[int, ...]) -> dict[str, Any]:
    """The facts as ``dsctl/box/facts.py`` prints them; ``disk_free`` is where the engine environment goes."""
    where = box.slots.get("engine.root", box.slots["run.dir"])
    argv = ("{box.python}", "{run.dir}/bin/facts.py", "--dir", where, "--ports", ",".join(map(str, ports)))
    done = box.host.run(box.fill_all(argv), timeout_s=_LOOK_S)
    if done.exit != 0:
        raise StepFailed("the box could not be looked at", context=tuple(done.output.splitlines()[-12:]))
    return json.loads(done.stdout.splitlines()[-1])
