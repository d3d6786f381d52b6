"""The report as one JSON object: every member of every finding."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict

from inkube.apiserver.validate.plan import Result
from inkube.schemas.offline import Finding

_OPTIONAL = ("value", "hint", "source", "minors")


def render(result: Result) -> Iterator[str]:
    """Yield the report."""
    shown = {
        "documents": result.documents,
        "errors": _items(result.errors),
        "warnings": _items(result.warnings),
        "skipped": [asdict(each) for each in result.skipped],
    }
    yield json.dumps(shown, indent=2, ensure_ascii=False)


def _items(findings: Iterable[Finding]) -> list[dict[str, object]]:
    return [_item(each) for each in findings]


def _item(finding: Finding) -> dict[str, object]:
    item = asdict(finding)
    del item["severity"], item["excerpt"]
    for name in _OPTIONAL:
        if not item[name]:
            del item[name]
    if "minors" in item:
        item["minors"] = [f"1.{minor}" for minor in finding.minors]
    return item
