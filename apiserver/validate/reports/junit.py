"""The report as JUnit XML: a test case for each file. Warnings are output of a case."""

from collections.abc import Iterator
from xml.etree import ElementTree as ET  # it only writes

from inkube.apiserver.validate.plan import Result

_NAME = "inkube validate"


def render(result: Result) -> Iterator[str]:
    """Yield the report."""
    failed = {each.file for each in result.errors}
    found = result.by_file()
    files = list(dict.fromkeys((*result.files, *found)))
    counts = {"tests": str(len(files)), "failures": str(len(failed))}
    root = ET.Element("testsuites", counts)
    suite = ET.SubElement(root, "testsuite", {"name": _NAME, **counts})
    for file in files:
        case = ET.SubElement(suite, "testcase", {"name": file, "classname": _NAME, "file": file})
        for finding in found.get(file, ()):
            if finding.is_error:
                told = {"message": finding.message, "type": finding.code}
                ET.SubElement(case, "failure", told).text = finding.text()
            else:
                ET.SubElement(case, "system-out").text = finding.text()
    yield '<?xml version="1.0" encoding="UTF-8"?>'
    yield ET.tostring(root, encoding="unicode")
