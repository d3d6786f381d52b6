"""Where `print` of a container's coroutine goes: into its log, and nobody else's.

`sys.stdout` and `sys.stderr` are routed while containers run; a context variable, which every task
of a container inherits, says whose output it is.
"""

import contextlib
import sys
from collections.abc import Iterator
from contextvars import ContextVar
from typing import Any, TextIO

from inkube.controllers.workloads.kubelet.logbook import LogBook

_BOOK: ContextVar[LogBook | None] = ContextVar("log of a container", default=None)


class _Routed:
    """A standard stream that looks who writes."""

    def __init__(self, original: TextIO, *, is_error: bool) -> None:
        self.original = original
        self._is_error = is_error

    def write(self, text: str) -> int:
        book = _BOOK.get()
        if book is None:
            return self.original.write(text)
        book.write(text.encode("utf-8", "replace"), is_error=self._is_error)
        return len(text)

    def writelines(self, lines: Any) -> None:
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        if _BOOK.get() is None:
            self.original.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.original, name)


@contextlib.contextmanager
def into(book: LogBook) -> Iterator[None]:
    """Let what is printed from here on, by this task and those it starts, go into the log."""
    for name, is_error in (("stdout", False), ("stderr", True)):
        if not isinstance(getattr(sys, name), _Routed):
            setattr(sys, name, _Routed(getattr(sys, name), is_error=is_error))
    token = _BOOK.set(book)
    try:
        yield
    finally:
        _BOOK.reset(token)


def restore() -> None:
    """Give the standard streams back: no container runs any more."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if isinstance(stream, _Routed):
            setattr(sys, name, stream.original)
