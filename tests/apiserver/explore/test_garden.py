"""Default settings find each planted bug within a minute, and nothing in right controllers.

These tests belong to `make exams`. For every change, `test_exploring` and `test_in_process` look
for some of the bugs, with the plan that shows each.
"""

import os

import plantedones
import pytest
import rightones

from inkube.apiserver.explore import Limits, explore

pytestmark = [
    pytest.mark.skipif(os.environ.get("INKUBE_EXAMS") != "long", reason="part of make exams"),
    pytest.mark.timeout(900),
]


@pytest.fixture(autouse=True)
def _no_unhandled_errors():
    """An exploration reports the errors that controllers log."""


@pytest.mark.parametrize("planted", plantedones.GARDEN, ids=lambda each: each.kind)
def test_default_settings_find_a_planted_bug(planted):
    found = explore(planted.scenario, Limits(exit_first=True, shrink=0))
    assert any(finding.is_certain for finding in found.findings), found


@pytest.mark.parametrize(
    "right", dict.fromkeys((*rightones.RIGHT, *rightones.EXAMPLES)), ids=lambda each: each.__name__
)
def test_default_settings_find_nothing_in_a_right_controller(right, tmp_path):
    try:
        scenario = right(tmp_path)
    except rightones.Missing as missing:
        pytest.skip(f"this machine lacks {missing}")
    found = explore(scenario)
    assert [(each.plan.name, each.text) for each in found.findings if each.is_certain] == []
    assert found.failed == []
    assert found.passed
