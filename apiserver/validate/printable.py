"""Findings without characters that a terminal, the log of a pipeline or XML would obey.

Manifests of strangers are checked, and names can contain anything: escape sequences, a new line
that begins with a command of the pipeline, or bytes of a file name that are no text.
"""

from collections import Counter
from dataclasses import replace

from inkube.apiserver.validate.plan import Result, Skipped
from inkube.schemas.offline import Finding

_MARK = "\N{REPLACEMENT CHARACTER}"


def text(value: str, kept: str = "") -> str:
    """Return the text with Python's escapes for characters that cannot be printed, but those
    kept."""
    if value.isprintable():
        return value
    return "".join(each if each.isprintable() or each in kept else _escape(each) for each in value)


def result(of: Result) -> Result:
    """Return the result with texts that can be printed."""
    return replace(
        of,
        findings=[_finding(each) for each in of.findings],
        objects=Counter({text(kind): count for kind, count in of.objects.items()}),
        files=[_name(each) for each in of.files],
        skipped=[Skipped(_name(each.file), each.why, is_part=each.is_part) for each in of.skipped],
    )


def _finding(of: Finding) -> Finding:
    return replace(
        of,
        file=_name(of.file),
        subject=text(of.subject),
        field=text(of.field),
        message=text(of.message, kept="\n"),
        value=text(of.value, kept="\n\t"),
        hint=text(of.hint),
        source=text(of.source),
        excerpt="".join(
            each if each.isprintable() or each == "\t" else _MARK for each in of.excerpt
        ),
    )


def _name(file: str) -> str:
    """Return the name of a file; `::error.yaml` would be a command in the log of GitHub Actions."""
    return text(f"./{file}" if file.startswith(":") else file)


def _escape(character: str) -> str:
    return character.encode("unicode_escape").decode()
