"""The front step: the command tree, signals, and the only place where a failure becomes an exit status."""

from __future__ import annotations

import signal
import sys
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from dsctl.cli import bench, gateway, logs, plan, profile, ps, runbook, teardown, up

if TYPE_CHECKING:
    from types import FrameType

app = typer.Typer(
    name="dsctl",
    help="One YAML profile to a running, measured, costed, recorded and torn-down disaggregated DeepSeek deployment.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # plain help: the boxes cost three times the CPU of everything else
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("up", short_help="Bring a deployment up and prove that it serves.")(up.up)
app.command("bench", short_help="Sweep the load over a live run.")(bench.bench)
app.command("teardown", short_help="Stop a run and prove that nothing of it is left.")(teardown.teardown)
app.command("down", hidden=True)(teardown.teardown)
app.command("plan")(plan.plan)
app.command("ps")(ps.ps)
app.command("logs", short_help="Show what a program of a run says.")(logs.logs)
app.add_typer(profile.app, name="profile")
app.add_typer(runbook.app, name="runbook")
app.add_typer(gateway.app, name="gateway")


@app.command("version")
def version(*, as_json: Annotated[bool, typer.Option("--json", help="One JSON document.")] = False) -> None:
    """Show dsctl's version."""
    from dsctl import __version__

    typer.echo(f'{{"schema": "dsctl.version/1", "version": "{__version__}"}}' if as_json else f"dsctl {__version__}")


def main() -> NoReturn:
    """Run the command line; every failure ends here, as text, as JSON if asked, and as an exit status."""
    _install_signals()
    try:
        app()
    except Exception as error:  # noqa: BLE001  the one place: whatever is not ours is a bug and goes to a crash file
        from dsctl.view.failure import report

        sys.exit(report(error, as_json="--json" in sys.argv))
    sys.exit(0)


def _install_signals() -> None:
    """Each signal becomes one exception in the main thread, so that teardown can run before the end."""

    def raise_interrupted(signum: int, _frame: FrameType | None) -> NoReturn:
        from dsctl.core.errors import Interrupted

        raise Interrupted(signum)

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:  # nohup asked for SIGHUP to be ignored
            signal.signal(number, raise_interrupted)
