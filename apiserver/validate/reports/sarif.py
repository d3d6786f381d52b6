"""The report in SARIF 2.1.0, which code hosts show at the lines of a change."""

import json
from collections.abc import Iterator
from importlib import metadata
from pathlib import PurePath
from typing import Any
from urllib.parse import quote

from inkube.apiserver.validate.plan import Result
from inkube.schemas.offline import CODES, Finding

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def render(result: Result) -> Iterator[str]:
    """Yield the report."""
    used = {finding.code for finding in result.findings}
    rules = [
        {"id": code, "shortDescription": {"text": text}}
        for code, text in CODES.items()
        if code in used
    ]
    driver = {"name": "inkube", "version": metadata.version("inkube"), "rules": rules}
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "results": [_result(finding) for finding in result.findings],
    }
    yield json.dumps({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2)


def _result(finding: Finding) -> dict[str, Any]:
    about = ": ".join(part for part in (finding.subject, finding.field, finding.message) if part)
    text = f"{about}. {finding.hint}" if finding.hint else about
    region = {
        "startLine": finding.line,
        "startColumn": finding.column,
        "endColumn": finding.column + finding.length,
    }
    return {
        "ruleId": finding.code,
        "level": finding.severity,
        "message": {"text": text},
        "locations": [
            {
                "physicalLocation": {
                    "artifactLocation": {"uri": quote(PurePath(finding.file).as_posix())},
                    "region": region,
                }
            }
        ],
    }
