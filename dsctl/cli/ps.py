"""``dsctl ps``: what is up."""

from __future__ import annotations

from typing import Annotated

import typer

from dsctl.cli.options import JsonOpt, QuietOpt, RunArg


def ps(
    run: RunArg = None,
    everything: Annotated[bool, typer.Option("--all", "-a", help="Runs of the past too.")] = False,
    as_json: JsonOpt = False,
    quiet: QuietOpt = False,
) -> None:
    """List live runs, asked live; one RUN in detail.

    Example: dsctl ps
    """
    from dsctl.flow.inspect import standing, standings
    from dsctl.flow.record import SystemClock
    from dsctl.flow.runs import find_run
    from dsctl.view.results import show_standing, show_standings
    from dsctl.view.sink import open_out

    out = open_out(json=as_json, quiet=quiet)
    if run:
        show_standing(out, standing(find_run(run, alive_only=False), SystemClock()))
    else:
        show_standings(out, standings(SystemClock(), everything=everything))
