"""Every test gets folders of its own and a network that ends at this machine."""

from __future__ import annotations

from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(autouse=True)
def own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """State, cache, runbooks and user profiles of the person running the tests stay untouched."""
    monkeypatch.setenv("DSCTL_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("DSCTL_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("DSCTL_RUNBOOKS", str(tmp_path / "runbooks"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    for name in ("DSCTL_PLAIN", "DSCTL_DEBUG", "CI", "NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def repository() -> Path:
    return ROOT


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Whatever the random order, the real engines come last and together: no other test shares the cores with them."""
    items.sort(key=lambda item: item.get_closest_marker("e2e") is not None)
