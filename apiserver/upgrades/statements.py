"""What an upgrade would meet, as text and as JSON."""

import json
from collections.abc import Iterator
from enum import Enum
from typing import NamedTuple

EXAMPLES = 20
"""The objects that a text names for one statement. JSON names all."""


class Code(Enum):
    """The kinds of statements, the most serious first. The value is the title in a text."""

    NOT_SERVED = "The kind is not served any more"
    REFUSED_UPDATE = "The next write of the object is refused"
    REFUSED_CREATE = "The object is refused if it is created again"
    REMOVED_VERSION = "A version that is in use is not served any more"
    STORED_VERSION = "A stored version must be migrated"
    WARNING = "A write is accepted with a new warning"
    DEFAULT = "A new object gets another default"


ERRORS = frozenset(
    {Code.NOT_SERVED, Code.REFUSED_UPDATE, Code.REFUSED_CREATE, Code.REMOVED_VERSION}
)
"""What does not work after the upgrade."""


class Statement(NamedTuple):
    """One statement about one object."""

    code: Code
    object: str
    message: str


class Report(NamedTuple):
    """The statements of a rehearsal, and what they are based on."""

    source: str
    target: str
    objects: int
    statements: list[Statement]

    @property
    def exit_code(self) -> int:
        """0 without statements, 1 if something does not work after the upgrade, else 2."""
        if any(each.code in ERRORS for each in self.statements):
            return 1
        return 2 if self.statements else 0

    def by_code(self) -> Iterator[tuple[Code, dict[str, list[str]]]]:
        """Yield the objects of each message, by code."""
        for code in Code:
            found: dict[str, list[str]] = {}
            for each in self.statements:
                if each.code is code:
                    found.setdefault(each.message, []).append(each.object)
            if found:
                yield code, found


def text(report: Report) -> str:
    """Return one page."""
    lines = [f"From Kubernetes {report.source} to {report.target}: {report.objects} objects", ""]
    for code, messages in report.by_code():
        lines.append(f"{code.value}:")
        for message, objects in messages.items():
            shown = ", ".join(objects[:EXAMPLES])
            more = f" and {len(objects) - EXAMPLES} more" if len(objects) > EXAMPLES else ""
            lines += [f"    {message}", f"        {shown}{more}"]
        lines.append("")
    if not report.statements:
        lines += ["Nothing changes for these objects.", ""]
    return "\n".join(lines)


def as_json(report: Report) -> str:
    """Return the report as JSON."""
    items = [
        {"code": each.code.name, "object": each.object, "message": each.message}
        for each in report.statements
    ]
    shown = {
        "from": report.source,
        "to": report.target,
        "objects": report.objects,
        "statements": items,
    }
    return json.dumps(shown, indent=2, ensure_ascii=False)
