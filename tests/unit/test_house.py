"""The house rules that no linter knows: sizes, docstrings, a light start, nothing of one machine in the files."""

from __future__ import annotations

import ast
import re
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from dsctl.cli.reference import main as reference

ROOT = Path(__file__).resolve().parents[2]
MODULES = sorted((ROOT / "dsctl").rglob("*.py"))
LONGEST_MODULE, LONGEST_FUNCTION = 400, 60
HEAVY = ("httpx", "pydantic", "yaml", "rich.progress")
HELP_CPU_S = 0.2


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_modules_are_small_and_say_what_they_know(path: Path) -> None:
    text = path.read_text()
    tree = ast.parse(text)
    assert ast.get_docstring(tree), "a module says in its docstring what it knows"
    assert len(text.splitlines()) <= LONGEST_MODULE
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = (node.end_lineno or 0) - node.lineno + 1
            assert length <= LONGEST_FUNCTION, f"{node.name} has {length} lines"


def test_help_imports_nothing_heavy() -> None:
    command = [sys.executable, "-X", "importtime", "-m", "dsctl", "--help"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    times = [line for line in done.stderr.splitlines() if line.startswith("import time:")]
    imported = {line.rpartition("|")[2].strip() for line in times}
    assert "dsctl.cli.app" in imported, "the list of imports is there to be looked at"
    assert not imported & set(HEAVY)


def test_help_is_instant() -> None:
    """CPU time of a whole `dsctl --help`, not wall time; the best of five, since machines are noisy."""
    best = min(_help_cpu() for _ in range(5))
    assert best < HELP_CPU_S, f"{best:.3f} s of CPU"


def _help_cpu() -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-m", "dsctl", "--help"], capture_output=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime + after.ru_stime) - (before.ru_utime + before.ru_stime)


def test_the_generated_reference_is_current(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["reference", "--check"])
    assert reference() == 0, capsys.readouterr().err


def test_no_file_names_this_machine_or_a_package_index() -> None:
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode:
        pytest.skip("not a git checkout")
    here = re.compile(r"(?<![\w.])/((work|root|home/\w+)/|tmp/lab\b)")
    for name in listed.stdout.splitlines():
        path = ROOT / name
        if path.suffix in (".svg", ".png") or not path.is_file() or path == Path(__file__):
            continue
        text = path.read_text(errors="replace")
        assert not here.search(text), f"{name} holds a path of one machine"
        if name.startswith(("requirements/", "dsctl/locks/")) and name.endswith(".txt"):
            assert "://" not in text, f"{name} names an index"
            assert not re.search(r"^--(extra-)?(index-url|find-links)", text, re.MULTILINE), name


def test_documents_point_at_files_that_exist() -> None:
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    for page in pages:
        for target in re.findall(r"\]\((?!https?://|#)([^)#]+)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.relative_to(ROOT)} points at {target}"
