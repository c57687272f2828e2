"""``dsctl teardown``: give back, and prove it."""

from __future__ import annotations

from typing import Annotated

import typer

from dsctl.cli.options import JsonOpt, QuietOpt, RunsArg, YesOpt


def teardown(
    runs: RunsArg = None,
    everything: Annotated[bool, typer.Option("--all", help="Every live run.")] = False,
    yes: YesOpt = False,
    as_json: JsonOpt = False,
    quiet: QuietOpt = False,
) -> None:
    """Stop a run in order, end whatever is left of it, and prove that no process, port or shared memory remains.

    Safe to repeat, and after anything was killed. Exit status 10 means that the end could not be proven.

    Example: dsctl teardown local-1p2d --yes
    """
    from dsctl.flow.teardown import chosen_rows, teardown_row
    from dsctl.view.results import show_torn_down
    from dsctl.view.sink import open_out

    out = open_out(json=as_json, quiet=quiet)
    rows = chosen_rows(runs or (), everything=everything)
    if not yes and any(row.alive for row in rows):
        out.require(f"Tear down {', '.join(row.name for row in rows)}?")
    with out.watching() as sink:
        results = [teardown_row(row, reason="asked", sinks=(sink,)) for row in rows]
    show_torn_down(out, results)
