"""Knows a cache of KV blocks by their hashes: least recently used goes first. Pure."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence


class BlockCache:
    """``capacity`` in blocks. A prefix is found as far as its blocks are here without a gap."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._blocks: OrderedDict[str, None] = OrderedDict()

    def __len__(self) -> int:
        return len(self._blocks)

    def found(self, hashes: Sequence[str]) -> int:
        """How many blocks from the start are here; they count as used."""
        for index, block in enumerate(hashes):
            if block not in self._blocks:
                return index
            self._blocks.move_to_end(block)
        return len(hashes)

    def add(self, hashes: Sequence[str]) -> None:
        for block in hashes:
            self._blocks[block] = None
            self._blocks.move_to_end(block)
        while len(self._blocks) > self._capacity:
            self._blocks.popitem(last=False)
