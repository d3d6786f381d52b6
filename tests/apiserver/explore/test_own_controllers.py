"""The controllers that inkube brings end in the same state, wherever they are killed or disturbed.

`make exams` runs every plan. An ordinary run takes the same few of each scenario, in a mixed order.
"""

import fnmatch
import os

import ownscenarios
import pytest

from inkube.apiserver.explore import Limits, explore

PLANS = None if os.environ.get("INKUBE_EXAMS") == "long" else 6


@pytest.fixture(autouse=True)
def _no_unhandled_errors():
    """Faults let controllers log errors. An exploration reports all others (`raised`)."""


@pytest.mark.timeout(7200 if PLANS is None else 900)
@pytest.mark.parametrize("name", ownscenarios.SCENARIOS)
def test_own_controllers_end_the_same_after_each_disturbance(name):
    own = ownscenarios.SCENARIOS[name]
    by_design = (*own.different_by_design, *ownscenarios.COLLISIONS)
    limits = Limits(7200, most=PLANS, categories=own.categories, seed=1)
    found = explore(own.scenario, limits)
    told = [
        (finding.plan.name, finding.text)
        for finding in found.findings
        if finding.is_certain
        and not any(fnmatch.fnmatch(finding.plan.name, each) for each in by_design)
    ]
    assert told == []
    assert found.failed == []
    assert found.passed


@pytest.mark.timeout(300)
def test_a_check_keeps_the_condition_that_a_sync_writes_meanwhile():
    title = "patch repositories/boards right after create of Job default/boards-sync [#]1"
    found = explore(ownscenarios.SCENARIOS["boards"].scenario, Limits(300, only=[title], shrink=0))
    assert [finding.text for finding in found.findings] == []
    assert len(found.passed) == 1
