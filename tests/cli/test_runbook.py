"""``dsctl runbook`` as a person and as a script use it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from dsctl.cli.runbook import app
from dsctl.core.errors import UsageFault
from dsctl.runbook.journal import FILE
from tests.story import OPENED, failed, make_run, opened, whole


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """What ``DSCTL_RUNBOOKS`` points to in tests."""
    return tmp_path / "runbooks"


def _dsctl(*words: str) -> Result:
    return CliRunner().invoke(app, list(words), catch_exceptions=False)


def test_ls_without_runs_says_what_to_do() -> None:
    result = _dsctl("ls")
    assert (result.exit_code, result.stdout) == (0, "")
    assert "dsctl up local-1p2d" in result.stderr


def test_ls(root: Path) -> None:
    make_run(root, whole())
    make_run(root, [*opened(), failed()], run_id="01KBC9ZZZZABCDEFGHJKMNPXYZ", unix=OPENED + 60)
    lines = _dsctl("ls").stdout.splitlines()
    assert lines[0].split()[:4] == ["run", "name", "started", "status"]
    assert [line.split()[4] for line in lines[1:]] == ["failed", "torn-down"]
    assert _dsctl("ls", "-q").stdout.splitlines() == ["mnpqrs", "mnpqrs"]


def test_ls_json(root: Path) -> None:
    make_run(root, whole())
    document = json.loads(_dsctl("ls", "--json").stdout)
    assert document["schema"] == "dsctl.runbook-ls/1"
    assert document["runs"][0]["profile_digest"]
    assert json.loads(_dsctl("ls", "--json").stdout) == document


def test_one_journal_of_another_version_is_one_odd_row(root: Path) -> None:
    make_run(root, whole())
    odd = make_run(root, opened(), run_id="01KBC9ZZZZABCDEFGHJKMNPXYZ", unix=OPENED + 60)
    (odd / FILE).write_bytes((odd / FILE).read_bytes().replace(b"dsctl.event/1", b"dsctl.event/9"))
    runs = json.loads(_dsctl("ls", "--json").stdout)["runs"]
    assert runs[0]["short"] == "mnpxyz"
    assert runs[0]["status"].startswith("unreadable: ")
    assert runs[1]["status"] == "torn-down"


def test_show_without_a_word_is_the_newest(root: Path) -> None:
    path = make_run(root, whole())
    result = _dsctl("show")
    assert result.stdout.startswith("# lab (mnpqrs): torn-down\n")
    assert "## By hand" not in result.stdout
    assert path.name in result.stderr


def test_show_json(root: Path) -> None:
    path = make_run(root, whole())
    document = json.loads(_dsctl("show", "mnpqrs", "--json").stdout)
    assert next(iter(document)) == "schema"
    assert document["folder"] == str(path)
    assert document["manifest"]["bench"][0]["rate"] == 1.0


def test_an_unknown_run_is_a_usage_fault(root: Path) -> None:
    make_run(root, whole())
    with pytest.raises(UsageFault) as raised:
        _dsctl("show", "mnpqrx")
    assert raised.value.hint == "did you mean mnpqrs?"


def test_the_whole_way_to_an_exit_status(root: Path) -> None:
    make_run(root, whole())
    done = subprocess.run(
        (sys.executable, "-m", "dsctl", "runbook", "show", "mnpqrx", "--json"),
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert json.loads(done.stdout)["schema"] == "dsctl.error/1"
    assert done.stderr.endswith("hint: did you mean mnpqrs?\n")
