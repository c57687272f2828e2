"""Knows where dsctl keeps things: XDG folders, each overridable by one environment variable."""

from __future__ import annotations

import os
from pathlib import Path

from platformdirs.unix import Unix

_DIRS = Unix("dsctl", appauthor=False)


def state_dir() -> Path:
    """Not disposable: the ledger. ``DSCTL_STATE_DIR``, else ``$XDG_STATE_HOME/dsctl``."""
    return _chosen("DSCTL_STATE_DIR", _DIRS.user_state_dir)


def cache_dir() -> Path:
    """Disposable: engine environments, synthetic weights. ``DSCTL_CACHE_DIR``, else ``$XDG_CACHE_HOME/dsctl``."""
    return _chosen("DSCTL_CACHE_DIR", _DIRS.user_cache_dir)


def runbooks_dir() -> Path:
    """Where runs are written down. ``DSCTL_RUNBOOKS``, else ``./runbooks``."""
    return _chosen("DSCTL_RUNBOOKS", "runbooks")


def user_profiles_dir() -> Path:
    """A person's own profiles: ``$XDG_CONFIG_HOME/dsctl/profiles``."""
    return Path(_DIRS.user_config_dir) / "profiles"


def _chosen(variable: str, default: str) -> Path:
    return Path(os.environ.get(variable) or default).expanduser().absolute()
