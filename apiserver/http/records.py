"""The record of a finished request, for `Options.on_request`.

By default it contains no bodies, because they can contain secrets (`Options.record_bodies`).
"""

from typing import Any, NamedTuple

import orjson

from inkube.schemas import golang


class RequestRecord(NamedTuple):
    """One finished request. `path` includes the query. `verb` and the members after it are "" for
    requests outside resources. `code` is 0 if the connection was closed instead of a response."""

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
    """The names of the Faults that were applied."""
    sent: bytes = b""
    """The request body, if bodies are recorded and the body was read."""
    answered: bytes = b""
    """The response body, if bodies are recorded. Empty for watches and very long lists."""

    @property
    def body(self) -> Any:
        """The decoded request body; None if it is not JSON or YAML."""
        return _decode(self.sent)

    @property
    def answer(self) -> Any:
        """The decoded response body; None if it is not JSON or YAML."""
        return _decode(self.answered)

    def __str__(self) -> str:
        line = f"{self.code} {self.method} {self.path} ({self.milliseconds:.1f} ms)"
        return f"{line} [{', '.join(self.faults)}]" if self.faults else line


def _decode(data: bytes) -> Any:
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
