"""Knows which addresses may be written into a story that people share: loopback, and none other."""

from __future__ import annotations

import ipaddress
import re

HIDDEN = "[address]"
_IPV4 = re.compile(r"(?<![\w.-])(?<!==)(?:\d{1,3}\.){3}\d{1,3}(?![\w-]|\.\d)")
"""Four-part version numbers stay when they follow ``==``, a dash or a letter, as package versions do."""
_IPV6 = re.compile(r"(?<![\w:.])[0-9a-fA-F]{0,4}(?::[0-9a-fA-F]{0,4}){2,7}(?![\w:])")


def hide_addresses(text: str) -> str:
    """Every address beyond this machine becomes ``[address]``; loopback and *any* (0.0.0.0, ::) say nothing."""
    return _IPV6.sub(_hidden, _IPV4.sub(_hidden, text))


def _hidden(match: re.Match[str]) -> str:
    word = match.group(0)
    try:
        address = ipaddress.ip_address(word)
    except ValueError:
        return word
    harmless = address.is_loopback or address.is_unspecified or not any(c.isdigit() for c in word)
    return word if harmless else HIDDEN
