"""Knows how text reaches a stream that may go away: ``dsctl ... | head``, or a terminal whose connection was lost.

Neither may stop what the command does, least of all a teardown.
"""

from __future__ import annotations

import errno
import io
import os
from typing import IO

_GONE = (errno.EPIPE, errno.EIO, errno.ENXIO, errno.EBADF)
"""The reader left, or the terminal hung up. Other errors (a full disk) are said: an answer was lost."""


def write(stream: IO[str], text: str) -> None:
    """Write and flush. Once the reader is gone, this and everything after goes nowhere. Raises OSError otherwise."""
    try:
        stream.write(_writable(stream, text))
        stream.flush()
    except OSError as error:
        if error.errno not in _GONE:
            raise
        _to_nowhere(stream)


def takes_unicode(stream: IO[str]) -> bool:
    """Whether marks like ✓ can be written."""
    return _writable(stream, "✓✗•…") == "✓✗•…"


class Lasting(io.StringIO):
    """A stream for those who write by themselves, as rich does: what it takes goes through ``write``."""

    def __init__(self, stream: IO[str]) -> None:
        super().__init__()
        self._stream = stream

    def write(self, text: str, /) -> int:
        write(self._stream, text)
        return len(text)

    def isatty(self) -> bool:
        return self._stream.isatty()

    def fileno(self) -> int:
        return self._stream.fileno()


def _encoding(stream: IO[str]) -> str:
    return getattr(stream, "encoding", None) or "utf-8"


def _writable(stream: IO[str], text: str) -> str:
    """With ``?`` for what the stream's encoding does not have."""
    encoding = _encoding(stream)
    return text.encode(encoding, "replace").decode(encoding)


def _to_nowhere(stream: IO[str]) -> None:
    """The descriptor now leads to /dev/null, so that what is still buffered fails nobody, not even at exit."""
    try:
        descriptor = stream.fileno()
    except (io.UnsupportedOperation, AttributeError):
        return
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, descriptor)
    os.close(nowhere)
