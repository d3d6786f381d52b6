"""Routing of `print`: the output of a container's coroutine goes only to the log of the container.

`sys.stdout` and `sys.stderr` are replaced while containers run. A context variable, which every
task of a container inherits, contains the log.
"""

import contextlib
import sys
from collections.abc import Iterator
from contextvars import ContextVar
from typing import Any, TextIO

from inkube.controllers.workloads.kubelet.logbook import LogBook

_BOOK: ContextVar[LogBook | None] = ContextVar("log of a container", default=None)


class _Routed:
    """A standard stream that writes to the log of the current context, if it has one."""

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
    """Write all output of this task, and of tasks that it starts, to the log in this context."""
    for name, is_error in (("stdout", False), ("stderr", True)):
        if not isinstance(getattr(sys, name), _Routed):
            setattr(sys, name, _Routed(getattr(sys, name), is_error=is_error))
    token = _BOOK.set(book)
    try:
        yield
    finally:
        _BOOK.reset(token)


def restore() -> None:
    """Restore the standard streams after the last container has ended."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if isinstance(stream, _Routed):
            setattr(sys, name, stream.original)
