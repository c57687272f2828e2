"""Knows the simulated tokenizer and the simulated model's answers: both depend on nothing but their input.

A token is a word or a piece of one (up to four characters) as a number; the same text gives the same tokens in every
process. The greedy answer is a function of the prompt's tokens, so every engine answers alike.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence

VOCABULARY = 32000
_PIECE = re.compile(r"\s?\S{1,4}|\s")
_SYLLABLES = ("ba", "ko", "ri", "ta", "mu", "se", "lo", "ni", "pa", "du", "ve", "xi", "go", "fe", "ma", "tu")


def tokenize(text: str) -> list[int]:
    return [_number(piece.encode()) for piece in _PIECE.findall(text)]


def chat_tokens(messages: Sequence[dict[str, str]]) -> list[int]:
    """Role, text and end of each message, then the start of the answer."""
    tokens: list[int] = []
    for message in messages:
        tokens += [_number(message.get("role", "user").encode()), *tokenize(str(message.get("content") or "")), 1]
    return [*tokens, 2]


def answer_words(prompt: Sequence[int], count: int, seed: int) -> list[str]:
    """``count`` words, one a token, the same for the same prompt and seed."""
    state = hashlib.blake2b(repr((seed, list(prompt))).encode(), digest_size=16).digest()
    words: list[str] = []
    for index in range(count):
        drawn = hashlib.blake2b(state + index.to_bytes(4, "big"), digest_size=2).digest()
        words.append(" " + _SYLLABLES[drawn[0] % 16] + _SYLLABLES[drawn[1] % 16])
    return words


def block_hashes(tokens: Sequence[int], size: int) -> list[str]:
    """One hash a whole block, each covering all tokens up to its end."""
    hashes: list[str] = []
    chain = b""
    for start in range(0, len(tokens) - size + 1, size):
        chain = hashlib.blake2b(chain + repr(tokens[start : start + size]).encode(), digest_size=12).digest()
        hashes.append(chain.hex())
    return hashes


def _number(data: bytes) -> int:
    return 16 + int.from_bytes(hashlib.blake2b(data, digest_size=4).digest(), "big") % (VOCABULARY - 16)
