"""What an exploration found: as text, JSON, or JUnit."""

from collections.abc import Callable, Iterator
from xml.etree import ElementTree as ET

from inkube.apiserver.explore.exploring import Exploration
from inkube.apiserver.explore.judges import Finding
from inkube.apiserver.explore.plans import Plan
from inkube.schemas.objects import Object

MOST_DIFFERENCES = 8
MOST_REQUESTS = 15
MOST_LINES = 15


def text(exploration: Exploration, again: Callable[[str], str]) -> str:
    """Return a report for a terminal. `again` returns the command that runs the plans with a
    pattern."""
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
        said.append(f"{len(exploration.left_out)} left out: raise --budget")
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
        failure = ET.SubElement(case, "failure", message=finding.text)
        failure.text = "\n".join(map(str, finding.differences))
    for plan, why in exploration.failed:
        ET.SubElement(_case(suite, plan), "error", message=why)
    for plan in exploration.passed:
        _case(suite, plan)
    for plan in (*exploration.not_struck, *exploration.left_out):
        ET.SubElement(_case(suite, plan), "skipped")
    return ET.tostring(suite, encoding="unicode")


def _case(suite: ET.Element, plan: Plan) -> ET.Element:
    return ET.SubElement(suite, "testcase", classname=plan.category, name=plan.name)


def _finding(finding: Finding, again: Callable[[str], str]) -> Iterator[str]:
    how = "" if finding.is_certain else " (not in a second run)"
    yield f"FAILED {finding.plan.name}{how}"
    yield f"  {finding.text}"
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
    yield f"  again: {again(_pattern(finding.plan.name))}"


def _document(finding: Finding) -> Object:
    return {
        "plan": finding.plan.document(),
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
