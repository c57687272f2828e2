"""Event -> one JSON line on stdout."""

from __future__ import annotations

import json
from typing import IO

from dsctl.model.event import SCHEMA, Event, Sink
from dsctl.view.streams import write


def json_sink(stream: IO[str]) -> Sink:
    """Every event but the programs' own output lines, which would drown the rest."""

    def see(event: Event) -> None:
        if event.kind == "step.output":
            return
        line = {"schema": SCHEMA, "kind": event.kind, "at": event.at, "mono": event.mono, "data": dict(event.data)}
        write(stream, json.dumps(line, default=str) + "\n")

    return see
