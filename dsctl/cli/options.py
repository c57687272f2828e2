"""Arguments and options that several commands share, each said once; completions look at local files only."""

from __future__ import annotations

from typing import Annotated

import typer


def _profiles(incomplete: str) -> list[str]:
    from dsctl.flow.profiles import names

    return [entry.name for entry in names() if entry.name.startswith(incomplete)]


def _runs(incomplete: str) -> list[str]:
    from dsctl.flow.runs import live_names

    return [name for name in live_names() if name.startswith(incomplete)]


ProfileArg = Annotated[
    str, typer.Argument(help="A profile's name, or a file.", metavar="PROFILE", autocompletion=_profiles)
]
RunArg = Annotated[
    str | None,
    typer.Argument(help="A run's name or id; the only live one when left out.", metavar="RUN", autocompletion=_runs),
]
RunsArg = Annotated[
    list[str] | None,
    typer.Argument(help="Names or ids; the only live run when left out.", metavar="RUN", autocompletion=_runs),
]
RecordArg = Annotated[
    str | None, typer.Argument(help="A run's id, name or folder; the newest when left out.", metavar="RUN")
]
SetOpt = Annotated[
    list[str] | None,
    typer.Option(
        "--set", "-s", metavar="KEY=VALUE", help="Change a value of the profile, for example kv.l1_size=4GiB."
    ),
]
YesOpt = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]
JsonOpt = Annotated[bool, typer.Option("--json", help="JSON on stdout; events as lines first for long work.")]
QuietOpt = Annotated[bool, typer.Option("--quiet", "-q", help="Only ids on stdout.")]
