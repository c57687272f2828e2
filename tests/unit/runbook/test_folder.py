"""Runs are found by what people remember of them, and never guessed."""

from __future__ import annotations

from pathlib import Path

import pytest

from dsctl.core.errors import UsageFault
from dsctl.runbook import folder
from dsctl.runbook.journal import FILE
from tests.story import OPENED, RUN_ID, make_run, opened

_OTHER_ID = "01KBC9ZZZZABCDEFGHJKMNPXYZ"


def _two(root: Path) -> tuple[Path, Path]:
    older = make_run(root, opened())
    other = [opened()[0]]
    other[0].data.update(run_id=_OTHER_ID, short="mnpxyz")  # type: ignore[attr-defined]
    return older, make_run(root, other, run_id=_OTHER_ID, unix=OPENED + 3600)


def test_name_sorts_by_time() -> None:
    assert folder.name_of(RUN_ID, "local-1p2d", OPENED) == "20261201T090000Z-local-1p2d-mnpqrs"


@pytest.mark.parametrize(
    "ref", ["20261201T090000Z-local-1p2d-mnpqrs", "mnpqrs", "MNPQRS", RUN_ID, "mnpq", "20261201T09", RUN_ID[:9].lower()]
)
def test_found_by(tmp_path: Path, ref: str) -> None:
    older, _ = _two(tmp_path)
    assert folder.find(tmp_path, ref) == older


@pytest.mark.parametrize("ref", [None, "lab"])
def test_the_newest_of_a_name_and_of_all(tmp_path: Path, ref: str | None) -> None:
    _, newer = _two(tmp_path)
    assert folder.find(tmp_path, ref) == newer


@pytest.mark.parametrize("ref", ["mnp", "2026", "la", RUN_ID[:5]])
def test_what_fits_several_is_refused_with_the_choice(tmp_path: Path, ref: str) -> None:
    paths = _two(tmp_path)
    with pytest.raises(UsageFault, match="fits several runs") as raised:
        folder.find(tmp_path, ref)
    assert [line.split()[1] for line in raised.value.context] == [path.name for path in reversed(paths)]


def test_two_runs_with_one_short_id_are_refused(tmp_path: Path) -> None:
    make_run(tmp_path, opened())
    make_run(tmp_path, opened(), unix=OPENED + 60)
    with pytest.raises(UsageFault, match="fits several runs"):
        folder.find(tmp_path, "mnpqrs")


@pytest.mark.parametrize(
    ("ref", "hint"), [("mnpqrz", "did you mean mnpqrs?"), ("zzz", "dsctl runbook ls"), ("", "dsctl runbook ls")]
)
def test_unknown(tmp_path: Path, ref: str, hint: str) -> None:
    make_run(tmp_path, opened())
    with pytest.raises(UsageFault) as raised:
        folder.find(tmp_path, ref)
    assert raised.value.hint == hint
    assert raised.value.context == ("mnpqrs  20261201T090000Z-local-1p2d-mnpqrs",)


def test_no_runs_at_all(tmp_path: Path) -> None:
    with pytest.raises(UsageFault, match="there is no run"):
        folder.find(tmp_path / "none", None)


def test_a_damaged_journal_is_still_found_by_its_folder(tmp_path: Path) -> None:
    path = make_run(tmp_path, opened())
    (path / FILE).write_bytes(b"\0\0\0\n")
    assert folder.find(tmp_path, "mnpqrs") == path


def test_many_candidates_are_cut_short(tmp_path: Path) -> None:
    for minute in range(13):
        make_run(tmp_path, opened(), unix=OPENED + 60 * minute)
    with pytest.raises(UsageFault) as raised:
        folder.find(tmp_path, "20261201")
    assert raised.value.context[-1] == "and 3 more"


def test_profile_and_overrides_come_back(tmp_path: Path) -> None:
    path = make_run(tmp_path, opened())
    assert folder.read_profile(path)["name"] == "local-1p2d"
    assert folder.read_overrides(path) == ("kv.l1_size=4GiB",)
    (path / folder.OVERRIDES).unlink()
    assert folder.read_overrides(path) == ()


def test_a_file_is_replaced_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "README.md"
    folder.write_text(path, "before")

    def full(self: Path, text: str, **_: object) -> int:
        self.write_bytes(text[:3].encode())
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(OSError, match="No space"):
        folder.write_text(path, "after")
    assert path.read_bytes() == b"before"
    assert list(tmp_path.iterdir()) == [path]
