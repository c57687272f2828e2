"""``dsctl logs``: what the programs of a run said."""

from __future__ import annotations

from typing import Annotated

import typer

from dsctl.cli.options import RunArg


def logs(
    run: RunArg = None,
    role: Annotated[str, typer.Argument(help="prefill0, decode1, lmcache, gateway, supervisord.")] = "gateway",
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on as it grows, until Ctrl-C.")] = False,
    tail: Annotated[int, typer.Option(help="Only the last lines; 0 for all.", min=0)] = 200,
) -> None:
    """Show a program's log: from the box while the run lives, from the runbook after.

    Example: dsctl logs local-1p2d decode0 -f
    """
    from dsctl.flow.inspect import follow_log, log_text
    from dsctl.flow.record import SystemClock
    from dsctl.flow.runs import find_run

    row = find_run(run, alive_only=False)
    if not follow:
        typer.echo(log_text(row, role, tail=tail), nl=False)
        return
    for piece in follow_log(row, role, SystemClock(), tail=tail):
        typer.echo(piece, nl=False)
