"""The report as workflow commands of GitHub Actions, which annotate the lines of a change."""

from collections.abc import Iterator

from inkube.apiserver.validate.plan import Result
from inkube.schemas.offline import Finding


def render(result: Result) -> Iterator[str]:
    """Yield one command for each finding."""
    for finding in result.findings:
        about = (finding.subject, finding.field, finding.message, finding.hint)
        text = ": ".join(part for part in about if part)
        yield f"::{finding.severity} {_members(finding)}::{_data(text)}"


def _members(finding: Finding) -> str:
    members = {
        "file": finding.file,
        "line": finding.line,
        "col": finding.column,
        "endColumn": finding.column + finding.length,
        "title": finding.code,
    }
    return ",".join(f"{name}={_property(str(value))}" for name, value in members.items())


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
