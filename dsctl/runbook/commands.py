"""Steps to shell text that a person can copy and run by hand on the box."""

from __future__ import annotations

import posixpath
import re
import shlex
from collections.abc import Mapping, Sequence

from dsctl.model.step import Put, Step, render

_PLAIN = re.compile(r"(?:[\w\-./:=,@%+]|\{[a-z][a-z0-9_]*(?:\.[a-z0-9_]+)+\})+", re.ASCII)
"""Words no shell changes. A slot without a value stays readable; other braces would be expanded, so they are quoted."""
_SECRET = re.compile(r"\$[A-Z][A-Z0-9_]*")
"""How a secret is written down: the name of the variable that holds it, never its value."""


def shell_text(steps: Sequence[Step], slots: Mapping[str, str]) -> str:
    """One block a step: its title as a comment, then the command. Slots without a value stay as ``{name}``."""
    return "\n".join(_block(step, slots) for step in steps)


def _block(step: Step, slots: Mapping[str, str]) -> str:
    head = f"# {step.id}: {step.title}"
    guard = f"\n#   already done when: {_line(step.guard, slots)}" if step.guard else ""
    expects = "".join(f"\n#   must hold: {e.path} {e.op} {e.value!r}" for e in step.expect)
    return f"{head}{guard}{expects}\n{_command(step, slots)}\n"


def _command(step: Step, slots: Mapping[str, str]) -> str:
    if isinstance(step.action, Put):
        return _put(step.action, slots)
    env = "".join(f"{name}={_word(render(value, slots))} " for name, value in sorted(step.action.env.items()))
    return env + _line(step.action.argv, slots)


def _put(action: Put, slots: Mapping[str, str]) -> str:
    path = render(action.path, slots)
    if action.source:
        package = "python3 -c 'import dsctl, pathlib; print(pathlib.Path(dsctl.__file__).parent)'"
        return f'install -D "$({package})/{action.source}" {_word(path)}   # sha256 {action.sha256}'
    text = render(action.text, slots)
    make = f"mkdir -p {_word(posixpath.dirname(path))}"
    if not text.endswith("\n"):
        return f"{make} && printf %s {shlex.quote(text)} > {_word(path)}"
    end = _end_mark(text)
    return f"{make} && cat > {_word(path)} <<'{end}'\n{text}{end}"


def _end_mark(text: str) -> str:
    """A line that the text does not have."""
    mark = "DSCTL_END"
    while mark in text.splitlines():
        mark += "_"
    return mark


def _line(argv: Sequence[str], slots: Mapping[str, str]) -> str:
    return " ".join(_word(render(word, slots)) for word in argv)


def _word(word: str) -> str:
    if _SECRET.fullmatch(word):
        return f'"{word}"'
    return word if _PLAIN.fullmatch(word) else shlex.quote(word)
