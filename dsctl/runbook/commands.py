"""Steps to shell text that a person can copy and run by hand on the box."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence

from dsctl.model.step import Put, Step, render


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
    env = "".join(f"{name}={shlex.quote(render(value, slots))} " for name, value in sorted(step.action.env.items()))
    return env + _line(step.action.argv, slots)


def _put(action: Put, slots: Mapping[str, str]) -> str:
    path = _word(render(action.path, slots))
    if action.source:
        package = "python3 -c 'import dsctl, pathlib; print(pathlib.Path(dsctl.__file__).parent)'"
        return f'install -D "$({package})/{action.source}" {path}   # sha256 {action.sha256}'
    text = render(action.text, slots)
    return f"mkdir -p $(dirname {path}) && cat > {path} <<'DSCTL_END'\n{text.rstrip()}\nDSCTL_END"


def _line(argv: Sequence[str], slots: Mapping[str, str]) -> str:
    return " ".join(_word(render(word, slots)) for word in argv)


def _word(word: str) -> str:
    """Quoted where a shell needs it; an unfilled slot stays readable."""
    return word if word and all(c.isalnum() or c in "-_./:=,{}@%+" for c in word) else shlex.quote(word)
