"""The parts of SARIF 2.1.0 and of JUnit XML that reports use, as their standards define them.

SARIF: the OASIS standard, sections 3.13 to 3.30. JUnit XML: the elements that Jenkins and GitLab
read; `file` is GitLab's.
"""

import re
from typing import Any
from urllib.parse import unquote
from xml.etree import ElementTree as ET

import jsonschema_rs

_TEXT = {"type": "string", "minLength": 1}
_MESSAGE = {
    "type": "object",
    "properties": {"text": _TEXT},
    "required": ["text"],
    "additionalProperties": False,
}
_FROM_ONE = {"type": "integer", "minimum": 1}


def _object(required: list[str], **members: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": members,
        "required": required,
        "additionalProperties": False,
    }


_LOCATION = _object(
    ["physicalLocation"],
    physicalLocation=_object(
        ["artifactLocation"],
        artifactLocation=_object(["uri"], uri=_TEXT),
        region=_object(
            ["startLine"], startLine=_FROM_ONE, startColumn=_FROM_ONE, endColumn=_FROM_ONE
        ),
    ),
)
_RESULT = _object(
    ["ruleId", "level", "message", "locations"],
    ruleId=_TEXT,
    level={"enum": ["none", "note", "warning", "error"]},
    message=_MESSAGE,
    locations={"type": "array", "items": _LOCATION},
    partialFingerprints={"type": "object", "additionalProperties": {"type": "string"}},
)
_RULE = _object(["id"], id=_TEXT, shortDescription=_MESSAGE)
_DRIVER = _object(
    ["name"], name=_TEXT, version=_TEXT,
    rules={"type": "array", "uniqueItems": True, "items": _RULE},
)  # fmt: skip
_RUN = _object(
    ["tool", "results"],
    tool=_object(["driver"], driver=_DRIVER),
    columnKind={"enum": ["utf16CodeUnits", "unicodeCodePoints"]},
    results={"type": "array", "items": _RESULT},
)
_SARIF = jsonschema_rs.validator_for(
    _object(
        ["version", "runs"],
        **{"$schema": {"const": "https://json.schemastore.org/sarif-2.1.0.json"}},
        version={"const": "2.1.0"},
        runs={"type": "array", "items": _RUN},
    )
)
_PATH = re.compile(r"(?:[A-Za-z0-9._~!$&'()*+,;=@/-]|%[0-9A-F]{2})+")
"""A relative reference of RFC 3986 that is a path without a colon, which could end a scheme."""
_OF_CASES = {
    "failure": {"message", "type"},
    "error": {"message", "type"},
    "skipped": {"message"},
    "system-out": set[str](),
}


def files_of_sarif(report: dict[str, Any]) -> list[str]:
    """Check a report in SARIF, and return the files of its results."""
    _SARIF.validate(report)
    files = []
    for run in report["runs"]:
        rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
        assert len(rules) == len(set(rules))
        for result in run["results"]:
            assert result["ruleId"] in rules
            for location in result["locations"]:
                place = location["physicalLocation"]
                region = place.get("region", {})
                assert region.get("endColumn", 1) >= region.get("startColumn", 1)
                uri = place["artifactLocation"]["uri"]
                assert _PATH.fullmatch(uri), uri
                files.append(unquote(uri))
    return files


def cases_of_junit(text: str) -> dict[str, list[str]]:
    """Check a report in JUnit XML, and return the elements of each test case by its name."""
    root = ET.fromstring(text)
    suites = [root] if root.tag == "testsuite" else list(root)
    assert root.tag in {"testsuite", "testsuites"}
    found: dict[str, list[str]] = {}
    for suite in suites:
        assert suite.tag == "testsuite"
        assert suite.get("name")
        cases = list(suite)
        for case in cases:
            assert case.tag == "testcase"
            needed = {"name", "classname"}
            assert needed <= set(case.attrib) <= needed | {"file"}
            for each in case:
                assert set(each.attrib) <= _OF_CASES[each.tag]
                assert not list(each)
            found[case.attrib["name"]] = [each.tag for each in case]
        for counted in (suite, root):
            if "tests" in counted.attrib:
                failed = sum("failure" in tags for tags in found.values())
                assert counted.attrib["tests"] == str(len(cases))
                assert counted.attrib["failures"] == str(failed)
    return found
