"""The numbers of a run: one line for every run, and a table for `--summary`."""

from collections import Counter
from collections.abc import Iterator

from inkube.apiserver.validate.plan import Result


def counts(result: Result) -> str:
    """Return one line: documents, errors, warnings, and what was skipped."""
    told = [count(result.documents, "document"), count(len(result.errors), "error")]
    if result.warnings:
        told.append(count(len(result.warnings), "warning"))
    for why, number in Counter(each.why for each in result.skipped).items():
        told.append(f"skipped: {count(number, why)}")
    return ", ".join(told)


def table(result: Result) -> Iterator[str]:
    """Yield the objects by kind, and the findings by code."""
    yield "objects"
    for kind, number in sorted(result.objects.items()):
        yield f"  {number:6} {kind}"
    if result.findings:
        yield "findings"
        codes = Counter((each.code, each.severity) for each in result.findings)
        for (code, severity), number in sorted(codes.items()):
            yield f"  {number:6} {code} ({severity})"


def count(number: int, noun: str) -> str:
    """`1 error`, `2 errors`, `2 files of a Helm chart`."""
    if number == 1:
        return f"1 {noun}"
    head, space, rest = noun.partition(" of ")
    head, without, tail = head.partition(" without ")
    plural = f"{head}es" if head.endswith(("ch", "s", "sh")) else f"{head}s"
    return f"{number} {plural}{without}{tail}{space}{rest}"
