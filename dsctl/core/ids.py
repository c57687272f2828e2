"""Knows how runs are named: a ULID (26 characters, sorts by time); people type its last six, in lower case."""

from __future__ import annotations

import secrets

_ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
SHORT = 6


def new_run_id(unix_ms: int, randomness: bytes | None = None) -> str:
    """A ULID for the given time in milliseconds; 10 bytes of ``randomness`` make it repeatable in tests."""
    random_bits = int.from_bytes(randomness if randomness is not None else secrets.token_bytes(10), "big")
    value = (unix_ms << 80) | random_bits
    return "".join(_ALPHABET[(value >> shift) & 31] for shift in range(125, -1, -5))


def short_id(run_id: str) -> str:
    """The six characters people type."""
    return run_id[-SHORT:].lower()
