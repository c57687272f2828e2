"""One synthetic run, byte for byte. ``DSCTL_GOLDEN=write pytest tests/golden`` writes it anew; then read the diff."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from dsctl.runbook.recorded import recorded
from dsctl.runbook.render import readme
from tests.story import failed, make_run, measuring, opened, serving, starting, tearing, whole

_HERE = Path(__file__).parent / "readme"
_RUNS = {
    "torn-down": whole(),
    "simulated": [*opened(simulated=True), *starting(), *serving(), *measuring()],
    "failed": [*opened(), *starting()[:8], failed(), *tearing()],
}


@pytest.mark.parametrize("name", _RUNS)
def test_readme(tmp_path: Path, name: str) -> None:
    run = recorded(make_run(tmp_path, _RUNS[name]))
    told = readme(run, commands=False)
    path = _HERE / f"{name}.md"
    if os.environ.get("DSCTL_GOLDEN") == "write":
        path.parent.mkdir(exist_ok=True)
        path.write_text(told, encoding="utf-8")
    assert told == path.read_text(encoding="utf-8")
