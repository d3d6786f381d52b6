"""An exploration finds the planted bug of a controller, and nothing in one without."""

import gardens
import pytest

from inkube.apiserver.explore import Limits, Scenario, explore
from inkube.apiserver.explore.scenarios import Action, Converged, Target

CREATE = Action("apply boat/anna", (gardens.BOAT,))
DELETE = Action("delete boat/anna", delete=Target(resource="example.com/v1/boats", name="anna"))


def scenario(reconcile, *steps):
    quick = Converged(quiet=0.2, within=3.0)
    return Scenario(gardens.controller(reconcile), steps, (gardens.CRD,), quick)


def test_a_create_that_is_not_repeated_after_a_crash_is_found():
    found = explore(scenario(gardens.creates_once, CREATE), Limits(600, only=["crash after *"]))
    [finding] = found.findings
    assert finding.plan.name == "crash after create configmaps/anna-hold #1"
    assert finding.is_certain
    assert finding.verdict == "retries"
    assert ".status" in finding.text


@pytest.mark.timeout(900)
def test_nothing_is_found_in_a_controller_that_compares():
    found = explore(scenario(gardens.right, CREATE, DELETE), Limits(600))
    assert [finding.text for finding in found.findings] == []
    assert found.failed == []
    assert len(found.passed) > 10
