"""``dsctl runbook``: what happened."""

from __future__ import annotations

import typer

from dsctl.cli.options import JsonOpt, QuietOpt, RecordArg

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Runs that were written down: list them, read one.")


@app.command("ls")
def ls(as_json: JsonOpt = False, quiet: QuietOpt = False) -> None:
    """List recorded runs, newest first.

    Example: dsctl runbook ls
    """
    from dsctl.core.paths import runbooks_dir
    from dsctl.flow.runbooks import list_runs
    from dsctl.view.results import show_runbooks
    from dsctl.view.sink import open_out

    show_runbooks(open_out(json=as_json, quiet=quiet), list_runs(runbooks_dir()))


@app.command("show")
def show(run: RecordArg = None, as_json: JsonOpt = False, quiet: QuietOpt = False) -> None:
    """Show what a run did, how long each part took, and what was measured; the newest run when none is named.

    Example: dsctl runbook show k3x9qz
    """
    from dsctl.core.paths import runbooks_dir
    from dsctl.flow.runbooks import show_run
    from dsctl.view.results import show_runbook
    from dsctl.view.sink import open_out

    show_runbook(open_out(json=as_json, quiet=quiet), *show_run(runbooks_dir(), run))
