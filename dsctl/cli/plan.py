"""``dsctl plan``: what would be done; spends nothing, writes nothing."""

from __future__ import annotations

from typing import Annotated

import typer

from dsctl.cli.options import JsonOpt, ProfileArg, QuietOpt, SetOpt


def plan(
    profile: ProfileArg,
    overrides: SetOpt = None,
    commands: Annotated[bool, typer.Option("--commands", help="Every command, to copy and run by hand.")] = False,
    as_json: JsonOpt = False,
    quiet: QuietOpt = False,
) -> None:
    """Compile a profile to its steps.

    Example: dsctl plan local-1p2d --commands
    """
    from dsctl.flow.compile import commands_text, compile_plan
    from dsctl.flow.profiles import load
    from dsctl.view.results import show_plan
    from dsctl.view.sink import open_out

    out = open_out(json=as_json, quiet=quiet)
    compiled = compile_plan(load(profile, overrides or ()).profile)
    show_plan(out, compiled, commands_text(compiled) if commands else "")
