"""Knows the chat workload: prompts of an exact length, by the served tokenizer, that share an exact part.

Words are taken from a bank whose token counts were measured in place (a byte-level tokenizer splits at spaces, so
counts add up). The system prompt begins with a salt of its own step, so no step finds the KV of another one.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from dsctl.bench.spec import Chat
from dsctl.http1.client import HttpError, Pool

_SYLLABLES = ("ba", "ko", "ri", "ta", "mu", "se", "lo", "ni", "pa", "du", "ve", "xi", "go", "fe", "ma", "tu")
_BANK = 96
_AT_ONCE = 8
_LONGEST_SEARCH = 40


class TokenizeFailed(Exception):
    """The engine would not count tokens."""


@dataclass(frozen=True, slots=True)
class Prompts:
    """``bodies``: one encoded request each. ``prompt_tokens`` and ``shared_tokens``: as counted by the server."""

    bodies: list[bytes]
    prompt_tokens: int
    shared_tokens: int


@dataclass(frozen=True, slots=True)
class WordBank:
    """Words by how many tokens each adds after a space; ``filler`` words add exactly one."""

    tokens: Mapping[str, int]
    filler: tuple[str, ...]


class Tokenizer:
    """The served tokenizer, asked over HTTP; chat messages are counted with their template."""

    def __init__(self, pool: Pool, url: str, model: str) -> None:
        self._pool, self._url, self._model = pool, url.rstrip("/") + "/tokenize", model

    async def text(self, text: str) -> list[int]:
        return await self._ask({"model": self._model, "prompt": text, "add_special_tokens": False})

    async def chat(self, messages: list[dict[str, str]]) -> list[int]:
        return await self._ask({"model": self._model, "messages": messages, "add_generation_prompt": True})

    async def _ask(self, body: dict[str, Any]) -> list[int]:
        headers = {"content-type": "application/json"}
        try:
            exchange = await self._pool.request("POST", self._url, headers, orjson.dumps(body))
            answer = await exchange.read()
        except HttpError as error:
            raise TokenizeFailed(f"{self._url}: {error}") from error
        if exchange.status != 200:
            raise TokenizeFailed(f"{self._url}: HTTP {exchange.status}: {answer[:200].decode(errors='replace')}")
        return list(orjson.loads(answer)["tokens"])


async def measure_words(tokenizer: Tokenizer) -> WordBank:
    """Count each word of the bank where it will stand: after another word and a space."""
    rng = random.Random("words")  # noqa: S311  load, not cryptography
    words = sorted({"".join(rng.choices(_SYLLABLES, k=1 + n % 3)) for n in range(2 * _BANK)})[:_BANK]
    letters = [chr(ord("a") + n) for n in range(26)]
    base = len(await tokenizer.text("ba"))
    counts: dict[str, int] = {}
    for start in range(0, len(words + letters), _AT_ONCE):
        some = (words + letters)[start : start + _AT_ONCE]
        lengths = await asyncio.gather(*(tokenizer.text(f"ba {word}") for word in some))
        counts.update({word: len(tokens) - base for word, tokens in zip(some, lengths, strict=True)})
    usable = {word: count for word, count in counts.items() if count > 0}
    filler = tuple(word for word, count in usable.items() if count == 1)
    return WordBank({word: count for word, count in usable.items() if word in words} or usable, filler)


def words_of(bank: WordBank, tokens: int, rng: random.Random) -> str:
    """Text that adds ``tokens`` tokens, when every word stands after a space."""
    choices = list(bank.tokens)
    longest = max(bank.tokens.values())
    picked: list[str] = []
    left = tokens
    while left > longest:
        word = rng.choice(choices)
        picked.append(word)
        left -= bank.tokens[word]
    while left > 0:
        fitting = [word for word in choices if bank.tokens[word] <= left] or list(bank.filler)
        if not fitting:
            break
        word = rng.choice(fitting)
        picked.append(word)
        left -= bank.tokens.get(word, 1)
    return " ".join(picked)


async def chat_prompts(
    tokenizer: Tokenizer, bank: WordBank, workload: Chat, model: str, count: int, salt: str
) -> Prompts:
    """``count`` requests for one step. Lengths are corrected by what the server counts for the first of them."""
    rng = random.Random(salt)  # noqa: S311  load, not cryptography
    shared = round(workload.prompt_tokens * workload.shared_ratio)
    system = words_of(bank, shared, rng)
    own = workload.prompt_tokens - shared
    total, common = 0, 0
    for _ in range(_LONGEST_SEARCH):
        pair = [_messages(system, words_of(bank, max(1, own), rng)) for _ in range(2)]
        one, two = await asyncio.gather(*(tokenizer.chat(messages) for messages in pair))
        total, common = len(one), _common(one, two)
        missing = shared - (common if workload.shared_ratio else shared)
        if abs(missing) > 1:
            system = _resized(system, bank, missing, rng)
            own -= missing
            continue
        if total == workload.prompt_tokens or own <= 1:
            break
        own += workload.prompt_tokens - total
    bodies = [_body(model, workload, system, words_of(bank, max(1, own), rng)) for _ in range(count)]
    return Prompts(bodies, total, common)


def _resized(text: str, bank: WordBank, tokens: int, rng: random.Random) -> str:
    """The same text, longer or shorter by about ``tokens`` tokens, changed at its end only."""
    if tokens > 0:
        return f"{text} {words_of(bank, tokens, rng)}"
    words = text.split(" ")
    while words and tokens < 0:
        tokens += bank.tokens.get(words.pop(), 1)
    return " ".join(words)


def _messages(system: str, user: str) -> list[dict[str, str]]:
    first = [{"role": "system", "content": system}] if system else []
    return [*first, {"role": "user", "content": user}]


def _common(one: list[int], two: list[int]) -> int:
    """How many tokens two prompts share from the start."""
    for index, (a, b) in enumerate(zip(one, two, strict=False)):
        if a != b:
            return index
    return min(len(one), len(two))


def _body(model: str, workload: Chat, system: str, user: str) -> bytes:
    return orjson.dumps(
        {
            "model": model,
            "messages": _messages(system, user),
            "max_tokens": workload.output_tokens,
            "temperature": 0,
            "ignore_eos": True,
            "stream": True,
            "stream_options": {"include_usage": True},
        }
    )
