"""What an upgrade would meet, as text and as JSON."""

import json
from collections.abc import Iterator, Sequence
from enum import Enum
from typing import NamedTuple

EXAMPLES = 20
"""The objects that a text names for one statement. JSON names all."""


class Code(Enum):
    """The kinds of statements, the most serious first. The value is the title in a text."""

    NOT_SERVED = "The kind is not served any more"
    REFUSED_UPDATE = "The next write of the object is refused"
    REFUSED_CREATE = "The object is refused if it is created again"
    REFUSED_APPLY = "The manifest that kubectl applied last is refused if it is applied again"
    REFUSED_REQUEST = "A request of the audit log is refused"
    REMOVED_VERSION = "A version that is in use is not served any more"
    STORED_VERSION = "A stored version must be migrated"
    WARNING = "A write is accepted with a new warning"
    DEFAULT = "A new object gets another default"


ERRORS = frozenset({
    Code.NOT_SERVED, Code.REFUSED_UPDATE, Code.REFUSED_CREATE, Code.REFUSED_APPLY,
    Code.REFUSED_REQUEST, Code.REMOVED_VERSION,
})  # fmt: skip
"""What does not work after the upgrade."""


class Statement(NamedTuple):
    """One statement about one object."""

    code: Code
    object: str
    message: str


class Gate(NamedTuple):
    """A feature gate in both minors. `own` is what the cluster sets, None for the defaults."""

    name: str
    old: bool | None
    """The default, None if the gate is unknown in the minor."""
    new: bool | None
    own: bool | None = None

    def __str__(self) -> str:
        old, new, own = (_GATE[state] for state in (self.old, self.new, self.own))
        if self.own is not None:
            return f"{self.name}: {own} in the cluster, by default {old}, then {new}"
        return f"{self.name}: {old} -> {new}"


_GATE = {True: "on", False: "off", None: "unknown"}


class Report(NamedTuple):
    """The statements of a rehearsal, and what they are based on."""

    source: str
    target: str
    objects: int
    statements: list[Statement]
    evidence: str = ""
    """What says that the cluster is of the minor `source`; "" if the user says it."""
    requests: int = 0
    """The requests in the audit logs."""
    gates: Sequence[Gate] = ()
    """The feature gates that flip or that the cluster sets. They are no statements."""
    notes: Sequence[str] = ()
    """What could not be read."""

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
    requests = f", {report.requests} requests" if report.requests else ""
    evidence = f" ({report.evidence})" if report.evidence else ""
    versions = f"From Kubernetes {report.source}{evidence} to {report.target}"
    lines = [f"{versions}: {report.objects} objects{requests}", ""]
    for code, messages in report.by_code():
        lines.append(f"{code.value}:")
        for message, objects in messages.items():
            shown = ", ".join(objects[:EXAMPLES])
            more = f" and {len(objects) - EXAMPLES} more" if len(objects) > EXAMPLES else ""
            lines += [f"    {message}", f"        {shown}{more}"]
        lines.append("")
    if not report.statements:
        lines += ["Nothing changes for these objects.", ""]
    for title, texts in (("Feature gates:", report.gates), ("Not read:", report.notes)):
        lines += [title, *(f"    {each}" for each in texts), ""] if texts else []
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
        "evidence": report.evidence,
        "requests": report.requests,
        "statements": items,
        "gates": [each._asdict() for each in report.gates],
        "notes": list(report.notes),
    }
    return json.dumps(shown, indent=2, ensure_ascii=False)
