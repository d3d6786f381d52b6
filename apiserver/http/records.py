"""What a server tells about a finished request to whoever listens (`Options.on_request`).

Bodies are left out: they may hold what is nobody's business.
"""

from typing import NamedTuple


class RequestRecord(NamedTuple):
    """One finished request; `path` has its query, `verb` and the rest are "" outside resources."""

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

    def __str__(self) -> str:
        return f"{self.code} {self.method} {self.path} ({self.milliseconds:.1f} ms)"
