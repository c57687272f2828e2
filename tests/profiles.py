"""Profiles for tests: the shipped ones, with changes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from dsctl.model.profile import Profile

FOLDER = Path(__file__).resolve().parent.parent / "profiles"
SHIPPED = tuple(sorted(path.stem for path in FOLDER.glob("*.yaml")))


def shipped(name: str, **changes: Any) -> Profile:
    document = yaml.safe_load((FOLDER / f"{name}.yaml").read_text())
    return Profile.model_validate({**document, **changes})
