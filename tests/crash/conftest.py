from __future__ import annotations

from tests.e2e.conftest import sim_cli

__all__ = ["sim_cli"]
