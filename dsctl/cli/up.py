"""``dsctl up``: profile to a ready deployment."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from dsctl.cli.options import JsonOpt, ProfileArg, QuietOpt, SetOpt, YesOpt


class OnFailure(StrEnum):
    teardown = "teardown"
    keep = "keep"


def up(
    profile: ProfileArg,
    name: Annotated[str, typer.Option("--name", "-n", help="Name of the run; the profile's name when left out.")] = "",
    overrides: SetOpt = None,
    on_failure: Annotated[
        OnFailure, typer.Option(help="What a failure or a signal does with what was started.")
    ] = OnFailure.teardown,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would be done and write nothing.")] = False,
    yes: YesOpt = False,
    as_json: JsonOpt = False,
    quiet: QuietOpt = False,
) -> None:
    """Bring a deployment up: install, make or pull the model, start, prove that it serves.

    Ctrl-C, SIGTERM and SIGHUP give back what was started, unless --on-failure keep.

    Example: dsctl up local-1p2d --yes
    """
    from dsctl.core.paths import runbooks_dir
    from dsctl.flow.profiles import load
    from dsctl.flow.up import Request, choose
    from dsctl.flow.up import up as bring_up
    from dsctl.view.results import show_choice, show_ready
    from dsctl.view.sink import open_out

    out = open_out(json=as_json, quiet=quiet)
    loaded = load(profile, overrides or ())
    choice = choose(loaded.profile)
    show_choice(out, loaded.profile, choice.plan, choice.offer)
    if dry_run:
        out.document("dsctl.up-dry-run/1", {"plan": choice.plan.to_json(), "offer": choice.offer.what})
        return
    if not yes:
        out.require("Bring it up?")
    with out.watching() as sink:
        request = Request(
            loaded=loaded,
            name=name or loaded.profile.name,
            runbooks=runbooks_dir(),
            keep=on_failure is OnFailure.keep,
            sinks=(sink,),
        )
        ready = bring_up(request, choice)
    show_ready(out, ready)
