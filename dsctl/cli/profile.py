"""``dsctl profile``: what can be brought up."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dsctl.cli.options import JsonOpt, ProfileArg, QuietOpt, SetOpt

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Profiles: list, show, check, and begin new ones.")


@app.command("ls")
def ls(as_json: JsonOpt = False, quiet: QuietOpt = False) -> None:
    """List profiles: this project's, yours, and the shipped ones.

    Example: dsctl profile ls
    """
    from dsctl.flow.profiles import names
    from dsctl.view.results import show_profiles
    from dsctl.view.sink import open_out

    show_profiles(open_out(json=as_json, quiet=quiet), names())


@app.command("show")
def show(
    profile: ProfileArg,
    overrides: SetOpt = None,
    source: Annotated[bool, typer.Option("--source", help="The file as written, not every value.")] = False,
    as_json: JsonOpt = False,
) -> None:
    """Show a profile with every value it stands for.

    Example: dsctl profile show local-1p2d --set kv.l1_size=4GiB
    """
    from dsctl.flow.profiles import load, resolved_text
    from dsctl.view.sink import open_out

    out = open_out(json=as_json)
    loaded = load(profile, overrides or ())
    out.document("dsctl.profile-show/1", {"profile": loaded.profile.resolved(), "digest": loaded.digest})
    out.say((loaded.text if source else resolved_text(loaded.profile)).rstrip("\n"))


@app.command("check")
def check(
    files: Annotated[list[str], typer.Argument(help="Files or names.", metavar="PROFILE...")],
    overrides: SetOpt = None,
    as_json: JsonOpt = False,
) -> None:
    """Check profiles; every mistake is said with its line and what to write instead. Exit status 2 when there is one.

    Example: dsctl profile check mine.yaml
    """
    from dsctl.flow.profiles import check_all
    from dsctl.view.results import show_checked
    from dsctl.view.sink import open_out

    show_checked(open_out(json=as_json), check_all(files, overrides or ()))


@app.command("schema")
def schema() -> None:
    """Print the JSON schema, for completion in editors.

    Example: dsctl profile schema > profile.schema.json
    """
    import json

    from dsctl.flow.profiles import schema as profile_schema

    typer.echo(json.dumps(profile_schema(), indent=2))


@app.command("new")
def new(
    name: Annotated[str, typer.Argument(help="The new profile's name.", metavar="NAME")],
    like: Annotated[str, typer.Option(help="Which profile to begin from.")] = "local-1p2d",
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Where to write it.")] = None,
) -> None:
    """Begin a profile from another one.

    Example: dsctl profile new mine --like local-1p1d
    """
    from dsctl.flow.profiles import write_new
    from dsctl.view.sink import open_out

    out = open_out()
    path = write_new(name, like, output or Path("profiles") / f"{name}.yaml")
    out.say(str(path))
    out.hint(f"dsctl profile check {path}   then   dsctl up {name}")
