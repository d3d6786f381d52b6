"""A finding as something that repeats it: a scenario as YAML, and a test for pytest."""

import keyword
import re
from collections.abc import Sequence

import yaml

from inkube.apiserver.explore import scenarios
from inkube.apiserver.explore.controllers import Command, Coroutine, Suite
from inkube.apiserver.explore.judges import Finding
from inkube.apiserver.explore.scenarios import InProcess, Scenario

LONGEST_NAME = 80
_PLAIN = (str, int, float, bool, type(None))


def scenario(finding: Finding) -> str:
    """Return the smallest scenario of a finding, with its plan, as YAML. Raises ScenarioError."""
    assert finding.case is not None, "an exploration gives each finding its case"
    document = scenarios.document(finding.case)
    return yaml.safe_dump(document, sort_keys=False, allow_unicode=True, width=100)


def tests(findings: Sequence[Finding]) -> str:
    """Return a file for pytest with a test for each finding. It fails until the controller is
    repaired. Raises ScenarioError."""
    lines = ['"""What `inkube explore` found. Each test fails until the controller is repaired."""']
    lines += ["", f"from inkube.explore import {', '.join(_imported(findings))}"]
    for number, finding in enumerate(findings):
        lines += ["", "", *_test(finding, number, findings)]
    return "\n".join(lines) + "\n"


def name(finding: Finding) -> str:
    """Return the name of a finding for files and functions: `crash_after_create_secrets_a_1`."""
    text = re.sub(r"[^a-z0-9]+", "_", finding.plan.name.lower()).strip("_")[:LONGEST_NAME]
    return text.strip("_") or "plan"


def _test(finding: Finding, number: int, findings: Sequence[Finding]) -> list[str]:
    own = name(finding)
    is_taken = any(name(each) == own for each in findings[:number])
    found = [f"def test_{own}{f'_{number}' if is_taken else ''}():"]
    case = finding.case
    assert case is not None, "an exploration gives each finding its case"
    controller = _controller(case)
    found += [f"    # {line}" for line in finding.text.splitlines()]
    if missing := [rule.name for rule in case.rules if not rule.cel]:
        found += [f"    # without the rules in Python: {', '.join(missing)}"]
    found += [f"    {line}" for line in controller.lines]
    argument = f", {controller.expression}" if controller.expression else ""
    found += [f"    check(parse({_quoted(scenario(finding))}{argument}))"]
    return found


class _Code:
    """Lines before an expression, and the expression for a controller; "" if a scenario has it."""

    def __init__(self, expression: str = "", *lines: str) -> None:
        self.expression = expression
        self.lines = lines


def _controller(case: Scenario) -> _Code:
    controller = case.controller
    if isinstance(controller, Command | Suite):
        return _Code()
    if isinstance(controller, Coroutine):
        work = controller.work
        function, module = getattr(work, "__qualname__", ""), getattr(work, "__module__", "")
        if function.isidentifier() and not keyword.iskeyword(function) and module != "__main__":
            return _Code(f"Coroutine({function})", f"from {module} import {function}")
    elif isinstance(controller, InProcess) and all(
        isinstance(value, _PLAIN) for value in controller.options.values()
    ):
        return _Code(f"InProcess({dict(controller.options)!r})")
    return _Code(
        "CONTROLLER", f"from conftest import CONTROLLER  # that of your scenario: {controller.name}"
    )


def _imported(findings: Sequence[Finding]) -> list[str]:
    expressions = [_controller(each.case).expression for each in findings if each.case]
    classes = {text.partition("(")[0] for text in expressions} & {"Coroutine", "InProcess"}
    return [*sorted(classes), "check", "parse"]


def _quoted(text: str) -> str:
    """Return text as a literal of Python that people can read."""
    return repr(text) if '"""' in text else f'r"""\n{text}"""'
