"""The report for people: findings by file, each with its line and a caret, as compilers do."""

from collections.abc import Iterator
from itertools import groupby

from inkube.apiserver.validate.plan import Result
from inkube.schemas.offline import Finding

_COLOURS = {"error": "\x1b[1;31m", "warning": "\x1b[1;33m", "place": "\x1b[1m", "dim": "\x1b[36m"}
_END = "\x1b[0m"
_WIDEST = 160
"""The longest part of a line that is shown."""


def render(result: Result, *, colours: bool) -> Iterator[str]:
    """Yield the lines of the report, with a blank line between files."""
    for number, (_, found) in enumerate(groupby(result.findings, key=lambda each: each.file)):
        if number:
            yield ""
        for finding in found:
            yield from _lines(finding, colours=colours)


def short(result: Result) -> Iterator[str]:
    """Yield one line for each finding."""
    for finding in result.findings:
        line = finding.text().replace("\n", " ")
        yield f"{line}{_end(finding)} [{finding.code}]"


def _lines(finding: Finding, *, colours: bool) -> Iterator[str]:
    def painted(name: str, text: str) -> str:
        return f"{_COLOURS[name]}{text}{_END}" if colours else text

    place = painted("place", f"{finding.file}:{finding.line}:{finding.column}:")
    word = painted(finding.severity, f"{finding.severity}[{finding.code}]:")
    about = ": ".join(part for part in (finding.subject, finding.field, finding.message) if part)
    lines = about.replace("\n", "\n  | ")  # no line of a message begins a line of the report
    yield f"{place} {word} {lines}{_end(finding)}"
    if finding.excerpt:
        yield from _excerpt(finding, painted("dim", "|"), finding.line)
    if finding.hint:
        yield f"{' ' * len(str(finding.line))} = {finding.hint}"


def _excerpt(finding: Finding, bar: str, line: int) -> Iterator[str]:
    """Yield the line of the file, and carets below the part in question."""
    start = max(0, finding.column - 1 - _WIDEST // 2) if finding.column > _WIDEST else 0
    shown = finding.excerpt[start : start + _WIDEST].replace("\t", " ")
    before = finding.column - 1 - start
    carets = "^" * max(1, min(finding.length, len(shown) - before))
    yield f"{line} {bar} {shown}"
    yield f"{' ' * len(str(line))} {bar} {' ' * before}{carets}"


def _end(finding: Finding) -> str:
    """Return where the document comes from, and the minors with the finding."""
    source = f" (source: {finding.source})" if finding.source else ""
    minors = ", ".join(f"1.{minor}" for minor in finding.minors)
    return f"{source} (Kubernetes {minors})" if minors else source
