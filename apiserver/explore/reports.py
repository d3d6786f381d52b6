"""What an exploration found: as text, JSON, JUnit, or SARIF."""

import json
import re
from collections.abc import Callable, Iterator
from importlib import metadata
from urllib.parse import quote
from xml.etree import ElementTree as ET

from inkube.apiserver.explore import replays, scenarios
from inkube.apiserver.explore.exploring import Exploration, Limits, explore
from inkube.apiserver.explore.judges import VERDICTS, Finding
from inkube.apiserver.explore.plans import Plan
from inkube.apiserver.explore.scenarios import Scenario
from inkube.schemas.objects import Object

MOST_DIFFERENCES = 8
MOST_REQUESTS = 15
MOST_LINES = 15
_NOT_OF_XML = re.compile(r"[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_SARIF = "https://json.schemastore.org/sarif-2.1.0.json"


def check(scenario: Scenario, limits: Limits | None = None) -> Exploration:
    """Explore a scenario. Raises AssertionError with the report if a plan fails twice, or cannot be
    carried out, and the errors of `explore`."""
    __tracebackhide__ = True
    found = explore(scenario, limits or Limits())
    if found.failed or any(finding.is_certain for finding in found.findings):
        raise AssertionError(text(found))
    return found


def text(exploration: Exploration, again: Callable[[str], str] | None = None) -> str:
    """Return a report for a terminal. `again` returns the command that runs the plans with a
    pattern. Without it, the report contains a test for the first finding of each cause instead."""
    parts = [line for finding in exploration.findings for line in (*_finding(finding, again), "")]
    parts += [f"could not run: {plan.name}: {why}" for plan, why in exploration.failed]
    parts.append(summary(exploration))
    return "\n".join(parts)


def summary(exploration: Exploration) -> str:
    """Return one line: how many plans ran, and what they showed."""
    certain = sum(finding.is_certain for finding in exploration.findings)
    flaky = len(exploration.findings) - certain
    ran = exploration.plans - len(exploration.left_out)
    said = [f"{ran} of {exploration.plans} plans in {exploration.seconds:.0f} s"]
    said.append(f"{certain} finding{'' if certain == 1 else 's'}")
    if flaky:
        said.append(f"{flaky} seen only once")
    if exploration.not_struck:
        said.append(f"{len(exploration.not_struck)} did not take place")
    if exploration.left_out:
        why = "interrupted" if exploration.is_interrupted else "raise --budget"
        said.append(f"{len(exploration.left_out)} left out: {why}")
    return ", ".join(said)


def document(exploration: Exploration) -> Object:
    """Return the report as JSON."""
    return {
        "findings": [_document(finding) for finding in exploration.findings],
        "passed": [plan.name for plan in exploration.passed],
        "notStruck": [plan.name for plan in exploration.not_struck],
        "leftOut": [plan.name for plan in exploration.left_out],
        "failed": [{"plan": plan.name, "error": why} for plan, why in exploration.failed],
        "seconds": round(exploration.seconds, 3),
    }


def junit(exploration: Exploration) -> str:
    """Return the report as JUnit XML: one test case for each plan."""
    suite = ET.Element("testsuite", name="inkube explore")
    for finding in exploration.findings:
        case = _case(suite, finding.plan)
        failure = ET.SubElement(case, "failure", message=_of_xml(finding.text))
        failure.text = _of_xml("\n".join(map(str, finding.differences)))
    for plan, why in exploration.failed:
        ET.SubElement(_case(suite, plan), "error", message=_of_xml(why))
    for plan in exploration.passed:
        _case(suite, plan)
    for plan in (*exploration.not_struck, *exploration.left_out):
        ET.SubElement(_case(suite, plan), "skipped")
    return ET.tostring(suite, encoding="unicode")


def sarif(exploration: Exploration, file: str) -> str:
    """Return the report in SARIF 2.1.0. Results are located at `file`, that of the scenario."""
    used = dict.fromkeys(finding.verdict for finding in exploration.findings)
    rules = [{"id": verdict, "shortDescription": {"text": VERDICTS[verdict]}} for verdict in used]
    driver = {"name": "inkube explore", "version": metadata.version("inkube"), "rules": rules}
    results = [
        {
            "ruleId": finding.verdict,
            "level": "error" if finding.is_certain else "warning",
            "message": {"text": f"{finding.plan.name}: {finding.text}"},
            "locations": [{"physicalLocation": {"artifactLocation": {"uri": quote(file)}}}],
            "partialFingerprints": {"plan/v1": finding.plan.name},
        }
        for finding in exploration.findings
    ]
    run = {"tool": {"driver": driver}, "results": results}
    return json.dumps({"$schema": _SARIF, "version": "2.1.0", "runs": [run]}, indent=2)


def _case(suite: ET.Element, plan: Plan) -> ET.Element:
    return ET.SubElement(suite, "testcase", classname=plan.category, name=_of_xml(plan.name))


def _of_xml(text: str) -> str:
    """Return a text with escapes for the characters that XML cannot contain."""
    return _NOT_OF_XML.sub(lambda match: ascii(match[0])[1:-1], text)


def _finding(finding: Finding, again: Callable[[str], str] | None) -> Iterator[str]:
    how = "" if finding.is_certain else " (not in a second run)"
    yield f"FAILED {finding.plan.name}{how}"
    yield f"  {finding.text}"
    if finding.case is not None and finding.is_first:
        plan = finding.case.plans[0]
        steps = [step.text for step in plan.steps or finding.case.steps]
        yield f"  smallest scenario: {', then '.join(steps)}"
    if len(finding.differences) > 1:
        yield "  the end beside the undisturbed run:"
        yield from (f"    {each}" for each in finding.differences[:MOST_DIFFERENCES])
    shown = [each for each in finding.requests if each.verb != "watch"][-MOST_REQUESTS:]
    if shown:
        yield "  the last requests of the controller:"
        yield from (f"    {record}" for record in shown)
    log = finding.result.log.splitlines()[-MOST_LINES:] if finding.result else []
    if log:
        yield "  its log:"
        yield from (f"    {line}" for line in log)
    if again is not None:
        yield f"  again: {again(_pattern(finding.plan.name))}"
    elif finding.is_first:
        yield "  again, as a test:"
        yield from (f"    {line}" for line in replays.tests([finding]).splitlines())


def _document(finding: Finding) -> Object:
    return {
        "plan": finding.plan.document(),
        "smallest": scenarios.document(finding.case) if finding.case else None,
        "verdict": finding.verdict,
        "text": finding.text,
        "certain": finding.is_certain,
        "differences": [
            {
                "object": each.place.object,
                "path": each.place.path,
                "expected": each.expected,
                "actual": each.actual,
            }
            for each in finding.differences
        ],
        "requests": [str(record) for record in finding.requests],
        "log": finding.result.log if finding.result else "",
        "history": finding.result.history if finding.result else [],
    }


def _pattern(name: str) -> str:
    """Return the pattern that matches this name only."""
    return name.replace("[", "[[]").replace("*", "[*]").replace("?", "[?]")
