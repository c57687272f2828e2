"""Knows the files of the dsctl package that a plan puts on the box: scripts and locks, named with their digests."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from dsctl.core.digest import sha256
from dsctl.model.step import Put


def put_source(source: str, path: str) -> Put:
    """``source`` is relative to the package: ``box/probe.py``, ``locks/engine-cpu.txt``."""
    return Put(path=path, source=source, sha256=source_digest(source))


@cache
def source_digest(source: str) -> str:
    return sha256(files("dsctl").joinpath(source).read_bytes())
