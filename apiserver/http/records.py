"""What a server tells about a finished request to whoever listens (`Options.on_request`).

Bodies are left out unless they are asked for (`Options.record_bodies`): they may hold what is
nobody's business.
"""

from typing import Any, NamedTuple

import orjson

from inkube.schemas import golang


class RequestRecord(NamedTuple):
    """One finished request; `path` has its query, `verb` and the rest are "" outside resources.

    `code` is 0 where the connection was cut in place of an answer.
    """

    method: str
    path: str
    verb: str
    resource: str
    namespace: str
    name: str
    code: int
    milliseconds: float
    user_agent: str
    warnings: tuple[str, ...] = ()
    group: str = ""
    version: str = ""
    subresource: str = ""
    user: str = ""
    faults: tuple[str, ...] = ()
    """The names of the Faults it met."""
    sent: bytes = b""
    """The body, where bodies are kept and somebody read it."""
    answered: bytes = b""
    """The body of the answer, where bodies are kept; not of watches and very long lists."""

    @property
    def body(self) -> Any:
        """The decoded request body; None if it is not JSON or YAML."""
        return _decoded(self.sent)

    @property
    def answer(self) -> Any:
        """The decoded response body; None if it is not JSON or YAML."""
        return _decoded(self.answered)

    def __str__(self) -> str:
        line = f"{self.code} {self.method} {self.path} ({self.milliseconds:.1f} ms)"
        return f"{line} [{', '.join(self.faults)}]" if self.faults else line


def _decoded(data: bytes) -> Any:
    if not data:
        return None
    try:
        return orjson.loads(data)
    except ValueError:
        pass
    try:
        return golang.goyaml.loads(data).value
    except ValueError:
        return None
