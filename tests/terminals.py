"""Streams for tests: text in memory that says it is a terminal, or is gone."""

from __future__ import annotations

import errno
import io
import os


class Terminal(io.StringIO):
    """What is written to it can be read with ``getvalue``."""

    def __init__(self, typed: str = "", *, tty: bool = True, encoding: str = "utf-8") -> None:
        super().__init__(typed)
        self._tty, self._encoding = tty, encoding

    def isatty(self) -> bool:
        return self._tty

    @property
    def encoding(self) -> str:
        return self._encoding


class Gone(Terminal):
    """Every write fails, as to a closed pipe or a terminal that hung up."""

    def __init__(self, number: int = errno.EPIPE, *, tty: bool = False) -> None:
        super().__init__(tty=tty)
        self._number = number

    def write(self, text: str, /) -> int:
        raise OSError(self._number, os.strerror(self._number))
