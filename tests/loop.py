"""Run a coroutine on the loop that the programs use, with a limit, and see that it leaves no task behind."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

import uvloop

T = TypeVar("T")


def run(work: Coroutine[Any, Any, T], limit_s: float = 20.0) -> T:
    async def limited() -> T:
        async with asyncio.timeout(limit_s):
            result = await work
        others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        assert not others, f"left behind: {others}"
        return result

    return uvloop.run(limited())
