"""Knows where words go: stdout is the answer, stderr is talk; human, plain, JSON or quiet.

``NO_COLOR`` and ``TERM=dumb`` switch styles off; without a terminal that can move its cursor, or with ``CI`` or
``DSCTL_PLAIN`` set, nothing moves on the screen. With ``--json`` stdout is JSON only: one document, or for long work
one line an event and the document last.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from typing import IO, Any, Literal

from dsctl.core.errors import UsageFault
from dsctl.model.event import Event, Sink
from dsctl.view.streams import write

Mode = Literal["human", "plain", "json", "quiet"]


def open_out(*, json: bool = False, quiet: bool = False) -> Out:
    """The output of one command, as its options and its terminal ask for."""
    if json:
        return Out("json", sys.stdout, sys.stderr)
    if quiet:
        return Out("quiet", sys.stdout, sys.stderr)
    return Out("human" if moves(sys.stderr) else "plain", sys.stdout, sys.stderr)


def _silent(_event: Event) -> None:
    """Quiet mode shows nothing of the way."""


def moves(stream: IO[str]) -> bool:
    """Whether this stream is a terminal that a person watches, and that can draw over itself."""
    still = os.environ.get("CI") or os.environ.get("DSCTL_PLAIN") or os.environ.get("TERM") == "dumb"
    return stream.isatty() and not still


def styled(stream: IO[str]) -> bool:
    """``NO_COLOR`` counts when it is set and not empty, as its convention says."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


class Out:
    def __init__(self, mode: Mode, answer: IO[str], talk: IO[str]) -> None:
        self.mode: Mode = mode
        self._answer, self._talk = answer, talk

    def table(self, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        """An aligned table; in quiet mode the first column only."""
        if self.mode == "json":
            return
        if self.mode == "quiet":
            self.lines(row[0] for row in rows)
            return
        from dsctl.view.tables import text_table

        width = shutil.get_terminal_size().columns if self._answer.isatty() else None
        self._say(text_table(columns, rows, styled=styled(self._answer), width=width))

    def record(self, fields: Mapping[str, str]) -> None:
        """Names and values, one a line, for people."""
        if self.mode in ("human", "plain"):
            width = max((len(name) for name in fields), default=0)
            self.lines(f"  {name:<{width}}  {value}" for name, value in fields.items())

    def lines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self._say(line)

    def document(self, schema: str, payload: Mapping[str, Any]) -> None:
        """The whole answer as one JSON document on one line; its first key names the schema."""
        if self.mode == "json":
            self._say(json.dumps({"schema": schema, **payload}, default=str))

    def say(self, text: str) -> None:
        """A line of the answer that is neither table nor record; people only."""
        if self.mode in ("human", "plain"):
            self._say(text)

    def hint(self, text: str) -> None:
        if self.mode in ("human", "plain"):
            self._mutter(self._style("hint: ", "2") + text)

    def success(self, text: str) -> None:
        if self.mode in ("human", "plain"):
            self._mutter(self._style(text, "32"))

    def warn(self, text: str) -> None:
        self._mutter(self._style(f"warning: {text}", "33"))

    def confirm(self, question: str) -> bool:
        """Ask on stderr; the default is no. Raises UsageFault where nobody can answer."""
        if not (sys.stdin.isatty() and self._talk.isatty()):
            raise UsageFault(f"{question} Nobody is there to answer.", hint="pass --yes")
        write(self._talk, f"{question} [y/N] ")
        return sys.stdin.readline().strip().lower() in ("y", "yes")

    def require(self, question: str) -> None:
        if not self.confirm(question):
            raise UsageFault("nothing was done", hint="answer y, or pass --yes")

    @contextmanager
    def watching(self) -> Generator[Sink]:
        """A sink that shows events as they come, in the way of this mode."""
        if self.mode == "json":
            from dsctl.view.jsonl import json_sink

            yield json_sink(self._answer)
        elif self.mode == "human":
            from dsctl.view.live import Live

            with Live(self._talk, styled=styled(self._talk)) as live:
                yield live.see
        elif self.mode == "plain":
            from dsctl.view.plain import plain_sink

            yield plain_sink(self._talk)
        else:
            yield _silent

    def _say(self, text: str) -> None:
        write(self._answer, text + "\n")

    def _mutter(self, text: str) -> None:
        write(self._talk, text + "\n")

    def _style(self, text: str, code: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if styled(self._talk) else text
