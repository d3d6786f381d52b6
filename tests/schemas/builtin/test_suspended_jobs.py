"""What may change in the template of a job: it depends on whether the job rests."""

import copy
import itertools
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

POD = {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i", "resources": {}}]}
START = "2026-01-01T00:00:00Z"
MEMBERS: dict[str, Any] = {
    "nodeSelector": {"a": "b"},
    "tolerations": [{"operator": "Exists"}],
    "schedulingGates": [{"name": "example.com/g"}],
    "affinity": {"nodeAffinity": {}},
}


def replace(name: str, pod: Any) -> None:
    pod["spec"][name] = MEMBERS[name]


ASKS = {"requests": {"cpu": "2"}}
CHANGES: dict[str, Callable[[Any], None]] = {
    **{name: partial(replace, name) for name in MEMBERS},
    "resources": lambda pod: pod["spec"]["containers"][0].update(resources=ASKS),
    "labels": lambda pod: pod["metadata"].setdefault("labels", {}).update(c="d"),
    "annotations": lambda pod: pod["metadata"].setdefault("annotations", {}).update(c="d"),
}
"""What may change, by the member of the template."""
STATES = list(itertools.product([True, False], [None, START], [None, "True", "False"], [0, 1]))


@pytest.fixture
def changed(kinds):
    def fields(state, change):
        suspend, start, said, active = state
        old = kinds.created("Job", {"spec": {"suspend": suspend, "template": {"spec": POD}}})
        status = {"active": active} if active else {}
        if start:
            status["startTime"] = start
        if said:
            status["conditions"] = [{"type": "Suspended", "status": said}]
        old["status"] = kinds.decoded("Job", {"spec": old["spec"], "status": status})["status"]
        new = copy.deepcopy(old)
        change(new["spec"]["template"])
        strategy = kinds.strategy_of("Job")
        errors = strategy.check_update(new, old)
        return [error.field for error in errors]

    return fields


@pytest.mark.parametrize("name", CHANGES)
@pytest.mark.parametrize("state", STATES, ids=str)
def test_scheduling_and_resources_may_change_while_a_job_rests(changed, state, name):
    """It rests if it was never started, or if it says that it is suspended and has no pods."""
    suspend, start, said, active = state
    rests = suspend and (not start or (said == "True" and not active))
    assert changed(state, CHANGES[name]) == ([] if rests else ["spec.template"])


def test_no_other_member_of_the_template_may_ever_change(kinds, changed):
    schema = kinds.strategy_of("Job").definition.storage_version.schema["properties"]["spec"]
    template = schema["properties"]["template"]["properties"]["spec"]["properties"]
    values = {"string": "z", "integer": 77, "array": [{}], "object": {}}
    others = template.keys() - MEMBERS.keys() - {"containers"}
    assert len(others) > 30
    for name in others:
        of_its_type = values.get(template[name].get("type", "string"))
        if name == "securityContext":  # an empty one is the default
            of_its_type = {"runAsUser": 1}

        def change(pod, name=name, value=of_its_type):
            pod["spec"][name] = (not pod["spec"].get(name)) if value is None else value

        for state in STATES:
            assert {"spec.template", "spec.template.spec"} & {*changed(state, change)}, name
    for state in STATES:
        image = changed(state, lambda pod: pod["spec"]["containers"][0].update(image="z"))
        assert [field.removesuffix(".spec") for field in image] == ["spec.template"]


@pytest.mark.parametrize("suspend", [True, False])
@pytest.mark.parametrize("completions", [0, 1])
def test_only_a_suspended_job_without_completions_is_complete_without_a_start(
    kinds, suspend, completions
):
    spec = {"suspend": suspend, "completions": completions, "template": {"spec": POD}}
    old = kinds.created("Job", {"spec": spec})
    kinds_of = ("SuccessCriteriaMet", "Complete")
    conditions = [{"type": kind, "status": "True"} for kind in kinds_of]
    status = {"completionTime": START, "conditions": conditions}
    new = kinds.decoded("Job", {"spec": spec, "status": status})
    errors = kinds.strategy_of("Job").check_status(new, old)
    needs_start = not (suspend and completions == 0)
    assert ["status.startTime" in error.field for error in errors] == [True] * needs_start
