"""Knows how a failure reads: what failed, what was seen, what still runs, and the next command, that one last."""

from __future__ import annotations

import json
import os
import sys
import traceback
from datetime import UTC, datetime
from pathlib import Path

from dsctl.core.errors import DsctlError
from dsctl.core.paths import state_dir
from dsctl.view.sink import styled
from dsctl.view.streams import write
from dsctl.view.words import clean


def report(error: Exception, *, as_json: bool) -> int:
    """Say it on stderr, and as a final JSON object on stdout when asked; returns the exit status."""
    known = error if isinstance(error, DsctlError) else _bug(error)
    if as_json:
        document = {
            "schema": "dsctl.error/1",
            "code": known.code,
            "exit": known.exit,
            "message": known.message,
            "hint": known.hint,
            "context": list(known.context),
            "still_running": list(known.still_running),
        }
        write(sys.stdout, json.dumps(document) + "\n")
    write(sys.stderr, text(known, colour=styled(sys.stderr)))
    return known.exit


def text(error: DsctlError, *, colour: bool) -> str:
    red, bold, end = ("\x1b[31m", "\x1b[1m", "\x1b[0m") if colour else ("", "", "")
    lines = [
        *(f"  {clean(line)}" for line in error.context),
        *(f"{red}still running: {what}{end}" for what in error.still_running),
        f"{red}{bold}error:{end} {clean(error.message)}",
        *((f"hint: {error.hint}",) if error.hint else ()),
    ]
    return "\n".join(lines) + "\n"


def _bug(error: Exception) -> DsctlError:
    """The traceback goes to a file; locals never do, they may hold secrets."""
    told = "".join(traceback.format_exception(error))
    path = state_dir() / "crashes" / f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{os.getpid()}.txt"
    where = _written(path, told)
    return DsctlError(f"a bug in dsctl: {type(error).__name__}: {error}", hint=f"please report it with {where}")


def _written(path: Path, told: str) -> str:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch(mode=0o600)
        path.write_text(told, encoding="utf-8", errors="backslashreplace")
    except OSError:
        write(sys.stderr, told)
        return "the lines above"
    return str(path)
