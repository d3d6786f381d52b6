"""Conformance never decreases: no step falls below its recorded grade.

`floor.json` contains the steps that need not be exact, with their minimum grade: those that depend
on time (how long a client waits, the width of a column with names of the run, whether a controller
has seen the previous step), those whose lines kubectl prints in random order (the data of a secret
or a config map, which are Go maps), and those that differ. All others are exact.
"""

import importlib.util
import json
import os
from pathlib import Path
from types import ModuleType

import postgresql
import pytest

IS_LONG = os.environ.get("INKUBE_EXAMS") == "long"
HERE = Path(__file__).parent
FLOOR = json.loads((HERE / "floor.json").read_text())


def load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, HERE / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


table = load("table")


@pytest.mark.timeout(900)
def test_the_recorded_conversations_hold() -> None:
    with table.server() as url:
        held = table.replay(url)
    assert held.total == recorded("golden", "steps")
    assert fallen("replay", held.below) == {}, held.report


# CI replays every second minor; the exams replay all.
OLDER = ("1.31", "1.32", "1.33", "1.34", "1.35")[:: 1 if IS_LONG else 2]
SLICE = (
    "cel-[a-l]*", "core-[b-z]*", "crd-*", "more-d*", "more-openapi", "more-requests*",
    "more-validation-[bnp]*", "verb-*", "watch-*",
)  # fmt: skip
"""The conversations that CI replays for older minors: a third, from all areas."""


@pytest.mark.timeout(900)
@pytest.mark.parametrize("version", OLDER)
def test_recorded_conversations_of_older_minors_hold(version: str) -> None:
    with table.server(extra=["--kubernetes-version", version, *table.ALONE]) as url:
        held = table.replay(url, *SLICE, version=version)
    assert held.total > 800
    assert fallen(version, held.below) == {}, held.report


# The areas in which servers with shared data could differ from one: definitions, versions, watches.
SHARED = ("crd-[a-d]*", "verb-*", "watch-*", "delete-[a-f]*", "policy-mutating")


def test_conversations_hold_where_each_request_may_meet_another_process() -> None:
    with table.server("sqlite", extra=["--workers", "2"]) as url:
        held = table.replay(url, *SHARED)
    assert held.total > 100
    assert fallen("replay", held.below) == {}, held.report


def test_conversations_hold_on_postgresql() -> None:
    why = postgresql.missing()
    if why:
        pytest.skip(why)
    with table.server("postgresql") as url:
        held = table.replay(url, *SHARED)
    assert held.total > 100
    assert fallen("replay", held.below) == {}, held.report


@pytest.mark.timeout(900)
def test_the_recorded_kubectl_sessions_hold() -> None:
    client = table.reference_kubectl()
    if client is None:
        pytest.skip("kubectl 1.33 is not installed")
    with table.server() as url:
        held = table.kubectl(url, client)
    assert held.total == recorded("kubectl", "commands")
    assert fallen("kubectl", held.below) == {}, held.report


@pytest.mark.timeout(900)
def test_the_recorded_workloads_live() -> None:
    with table.living_server() as url:
        held = table.workloads(url)
    assert held.total == recorded("workloads/golden", "steps")
    assert fallen("workloads", held.below) == {}, held.report


@pytest.mark.timeout(900)
def test_the_recorded_kubectl_sessions_about_workloads_hold() -> None:
    client = table.reference_kubectl()
    if client is None:
        pytest.skip("kubectl 1.33 is not installed")
    with table.living_server() as url:
        held = table.kubectl(url, client, of=table.WORKLOADS, token="")
    assert held.total == recorded("workloads/kubectl", "commands")
    assert fallen("workloads kubectl", held.below) == {}, held.report


def test_a_step_may_not_fall_while_another_rises() -> None:
    below = {"core-misc: one": "contract", "core-misc: two": "FAILED"}
    assert fallen("replay", below) == {
        "core-misc: one": "contract < exact",
        "core-misc: two": "FAILED < exact",
    }


def recorded(folder: str, member: str) -> int:
    files = (HERE / folder).glob("*.json")
    return sum(len(json.loads(path.read_text())[member]) for path in files)


def fallen(name: str, below: dict[str, str]) -> dict[str, str]:
    """The steps with a lower grade than in the floor."""
    wanted = {step: FLOOR[name].get(step, "exact") for step in below}
    return {
        step: f"{grade} < {wanted[step]}"
        for step, grade in below.items()
        if table.GRADES[grade] < table.GRADES[wanted[step]]
    }
