"""An exploration finds the planted bug of a controller, and nothing in one without."""

import json
import os

import gardens
import pytest
from click.testing import CliRunner

from inkube.apiserver.cli import main
from inkube.apiserver.explore import (
    ExplorationError,
    Limits,
    Scenario,
    ScenarioError,
    apply,
    delete,
    explore,
    patch,
    scenarios,
)
from inkube.apiserver.explore.scenarios import Converged

LONG = os.environ.get("INKUBE_EXAMS") == "long"
CREATE = apply(gardens.BOAT)
BOATS = "example.com/v1/boats"
DELETE = delete(BOATS, "anna")
CHANGE = patch(BOATS, "anna", {"spec": {"sails": 3}})


def scenario(reconcile, *steps):
    quick = Converged(quiet=0.2, within=2.0)
    return Scenario(gardens.controller(reconcile), steps, [gardens.CRD], quick)


PLANTED = [
    (gardens.creates_once, [CREATE], "crash after create configmaps/anna-hold #1", "retries"),
    (gardens.remembers_in_status, [CREATE], "crash after patch boats/anna/status #1", "different"),
    (
        gardens.only_creates,
        [CREATE, CHANGE],
        f"controller down during {CHANGE.text!r}",
        "different",
    ),
    (
        gardens.indexes_by_name,
        [CREATE, DELETE, CREATE],
        f"controller down during {DELETE.text!r} and {CREATE.text!r}",
        "different",
    ),
    (
        gardens.cleans_on_event,
        [CREATE, DELETE],
        f"controller down during {DELETE.text!r}",
        "different",
    ),
    (
        gardens.removes_the_finalizer_first,
        [CREATE, DELETE],
        "crash after patch boats/anna #1 in step 2",
        "different",
    ),
    (gardens.gives_up, [CREATE], "500 for create configmaps/anna-hold #1", "different"),
    (
        gardens.collects_by_a_list,
        [CREATE],
        "boats.example.com of before 'apply boat/anna' after a restart",
        "lost",
    ),
    (
        gardens.retries_at_once,
        [CREATE],
        "500 for each create configmaps/anna-hold for a while",
        "retries",
    ),
    (gardens.leads_for_good, [CREATE], "lease gardener lost before 'apply boat/anna'", "unled"),
]


AT_ONCE = (gardens.collects_by_a_list, gardens.leads_for_good)
"""The controllers outside of `make exams`: those inside the server are explored in the same way."""


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("reconcile", "steps", "plan", "verdict"),
    [pytest.param(*each, id=each[0].__name__) for each in PLANTED if LONG or each[0] in AT_ONCE],
)
def test_a_planted_bug_is_found(reconcile, steps, plan, verdict):
    found = explore(
        scenario(reconcile, *steps), Limits(300, only=[plan], exit_first=True, shrink=0)
    )
    records = [record for finding in found.findings for record in finding.requests]
    assert [record for record in records if record.sent or record.answered] == [], "they are large"
    assert [(each.plan.name, each.verdict, each.is_certain) for each in found.findings] == [
        (plan, verdict, True)
    ], found
    if reconcile is gardens.creates_once:  # the request that fails for good
        text = found.findings[0].text
        assert ".status" in text
        assert "create configmaps/anna-hold is answered 409 again and again" in text


@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    ("reconcile", "steps"),
    [
        (gardens.right, [CREATE, CHANGE, DELETE]),
        *[
            (gardens.cleans_before_the_finalizer, [CREATE, DELETE]),
            (gardens.leads, [CREATE, CHANGE]),
        ][: None if LONG else 0],
    ],
)
def test_nothing_is_found_in_a_controller_that_compares(reconcile, steps):
    found = explore(scenario(reconcile, *steps), Limits(300, most=None if LONG else 4))
    assert [finding.text for finding in found.findings] == []
    assert found.failed == []
    assert len(found.passed) > 1  # more where other processes leave time for them


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("controller: a\nsteps: []", "steps: "),
        ("controller: a\nsteps: [{}]", "a step has one of apply, patch, delete, advance, wait"),
        ("controller: a\nsteps: [{advance: 1}]\nnope: 1", "nope: "),
        ("steps: [{advance: 1}]", "name the command of a controller"),
        ("controller: [", "while parsing"),
        ("[" * 5000, "maximum recursion"),
        ("", "a scenario is a mapping"),
        ("- a", "a scenario is a mapping"),
        ("a: \udcff", "no text in UTF-8"),
        ("controller: a\nsteps: [{advance: 1}]\nrules: [{name: r, cel: 'object.'}]", "rules: r: "),
        (
            "controller: a\nsteps: [{advance: 1}]\nplans: [{name: p, step: 1}]",
            "plans: 'p' has the step 1, but the steps are 0 to 0",
        ),
    ],
)
def test_an_unreadable_scenario_is_reported_with_its_member(text, why, tmp_path):
    path = tmp_path / "scenario.yaml"
    path.write_bytes(text.encode(errors="surrogateescape"))
    with pytest.raises(ScenarioError, match=why) as raised:
        scenarios.read(path)
    assert str(path) in str(raised.value)


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ("--objects map.yaml -- false", "the controller ended at its start, with exit code 1"),
        ("--objects map.yaml -- nowhere", "cannot start 'nowhere': there is no such program on"),
        ("--objects map.yaml -- ./no", "cannot start './no': there is no such program in the fold"),
        ("--objects map.yaml -- ./map.yaml", "cannot start './map.yaml': permission denied"),
        ("--suite -- nowhere", "cannot start 'nowhere': there is no such program on PATH"),
        ("nowhere.yaml", "File 'nowhere.yaml' does not exist."),
        (".", "File '.' is a directory."),
        ("--objects nowhere.yaml -- true", "Path 'nowhere.yaml' does not exist."),
        ("--budget nan map.yaml", "nan is not a number."),
        ("--budget -1 map.yaml", "-1.0 is not in the range x>=0."),
    ],
)
def test_what_cannot_be_explored_is_an_error_of_usage(words, why, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "map.yaml").write_text(json.dumps({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"},
    }))  # fmt: skip
    done = CliRunner().invoke(main, ["explore", *words.split()])
    assert done.exit_code == 2
    assert why in done.stderr
    assert "Errno" not in done.stderr


def test_plans_of_which_none_is_selected_are_an_error():
    limits = Limits(300, only=["nothing *"])
    with pytest.raises(ExplorationError, match=r"none of \d+ plans matches 'nothing \*'"):
        explore(scenario(gardens.right, CREATE), limits)
