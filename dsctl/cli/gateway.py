"""``dsctl gateway``: the front door by itself."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dsctl.cli.options import JsonOpt

app = typer.Typer(
    no_args_is_help=True, rich_markup_mode=None, help="The front door by itself: serve a configuration, or check one."
)

ConfigArg = Annotated[Path, typer.Argument(help="A gateway configuration (JSON).", metavar="CONFIG")]


@app.command("serve")
def serve(config: ConfigArg) -> None:
    """Serve until SIGTERM or Ctrl-C; answers in flight are finished first.

    Example: dsctl gateway serve gateway.json
    """
    from dsctl.gateway.serve import run

    raise typer.Exit(run(config))


@app.command("check")
def check(config: ConfigArg, as_json: JsonOpt = False) -> None:
    """Check a configuration without serving it.

    Example: dsctl gateway check gateway.json
    """
    from dsctl.core.errors import UsageFault
    from dsctl.gateway.config import load_config
    from dsctl.view.sink import open_out

    try:
        loaded = load_config(config)
    except (ValueError, TypeError) as error:
        raise UsageFault(
            f"{config}: {error}", hint="for an example see gateway.json in: dsctl plan local-1p2d --commands"
        ) from error
    out = open_out(json=as_json)
    out.document("dsctl.gateway-check/1", {"ok": True, "mode": loaded.mode, "engines": len(loaded.decode)})
    out.success(f"{config} is valid: {loaded.mode}, {len(loaded.prefill)} prefill, {len(loaded.decode)} decode")
