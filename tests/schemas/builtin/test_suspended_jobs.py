"""What may change in the template of a job: it depends on whether the job rests."""

import copy
import itertools

import pytest

POD = {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i", "resources": {}}]}
START = "2026-01-01T00:00:00Z"
CHANGES = {
    "nodeSelector": lambda spec: spec.update(nodeSelector={"a": "b"}),
    "tolerations": lambda spec: spec.update(tolerations=[{"operator": "Exists"}]),
    "schedulingGates": lambda spec: spec.update(schedulingGates=[{"name": "example.com/g"}]),
    "affinity": lambda spec: spec.update(affinity={"nodeAffinity": {}}),
    "resources": lambda spec: spec["containers"][0].update(resources={"requests": {"cpu": "2"}}),
}
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
        change(new["spec"]["template"]["spec"])
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


@pytest.mark.parametrize("state", STATES, ids=str)
def test_an_image_may_never_change(changed, state):
    errors = changed(state, lambda spec: spec["containers"][0].update(image="z"))
    assert [field.removesuffix(".spec") for field in errors] == ["spec.template"]


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
