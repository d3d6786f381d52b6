"""Which changes of a job's status are possible: what is over stays over, and counts agree."""

import pytest

TEMPLATE = {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i:1"}]}}
START, END = "2026-01-01T00:00:00Z", "2026-01-01T01:00:00Z"
DONE = {"startTime": START, "completionTime": END}


def conditions(*kinds):
    return [{"type": kind, "status": "True"} for kind in kinds]


@pytest.fixture
def changed(kinds):
    """The errors of a change of a job's status, in a job with such a spec."""

    def texts(old, new, **spec):
        strategy = kinds.strategy_of("Job")
        obj = {"spec": {"template": TEMPLATE, **spec}}
        before = kinds.created("Job", obj)
        after = kinds.decoded("Job", {**obj, "status": new})
        before["status"] = kinds.decoded("Job", {**obj, "status": old})["status"]
        strategy.prepare_for_update(kinds.context_of("Job", "status"), after, before)
        return [error.text() for error in strategy.check_status(after, before)]

    return texts


def test_a_job_ends_in_two_steps(changed):
    started = {"startTime": START, "active": 1}
    met = {**started, "conditions": conditions("SuccessCriteriaMet")}
    over = {**DONE, "succeeded": 1, "conditions": conditions("SuccessCriteriaMet", "Complete")}
    assert changed({}, started) == []
    assert changed(started, met) == []
    assert changed(met, over) == []
    assert changed(over, over) == []


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (
            {},
            {"startTime": START, "conditions": conditions("Failed")},
            [
                (
                    "status.conditions: Invalid value: cannot set Failed=True condition without "
                    "the FailureTarget=true condition"
                )
            ],
        ),
        (
            {},
            {"active": 1, "terminating": 1, "conditions": conditions("Complete")},
            [
                (
                    "status.completionTime: Required value: completionTime is required for "
                    "Complete jobs"
                ),
                (
                    "status.conditions: Invalid value: cannot set Complete=True condition without "
                    "the SuccessCriteriaMet=true condition"
                ),
                "status.active: Invalid value: 1: active>0 is invalid for finished job",
                "status.startTime: Required value: startTime is required for finished job",
                "status.terminating: Invalid value: 1: terminating>0 is invalid for finished job",
            ],
        ),
        (
            {**DONE, "conditions": conditions("SuccessCriteriaMet", "Complete")},
            {"startTime": END, "conditions": conditions("SuccessCriteriaMet")},
            [
                (
                    "status.conditions: Invalid value: cannot disable the terminal Complete=True "
                    "condition"
                ),
                "status.startTime: Required value: startTime cannot be removed for unsuspended job",
            ],
        ),
        (
            {"succeeded": 2, "failed": 1},
            {"succeeded": 1, "ready": 1},
            [
                "status.ready: Invalid value: 1: cannot set more ready pods than active",
                "status.failed: Invalid value: 0: cannot decrease the failed counter",
                "status.succeeded: Invalid value: 1: cannot decrease the succeeded counter",
            ],
        ),
        (
            {},
            {"uncountedTerminatedPods": {"succeeded": ["a"], "failed": ["a", ""]}},
            [
                'status.uncountedTerminatedPods.failed[0]: Duplicate value: "a"',
                'status.uncountedTerminatedPods.failed[1]: Invalid value: "": must not be empty',
            ],
        ),
        (
            {},
            {"completedIndexes": "0", "failedIndexes": "1"},
            [
                (
                    'status.completedIndexes: Invalid value: "0": cannot set non-empty '
                    "completedIndexes when non-indexed completion mode"
                ),
                (
                    'status.failedIndexes: Invalid value: "1": cannot set non-null failedIndexes '
                    "when backoffLimitPerIndex is null"
                ),
            ],
        ),
    ],
)
def test_impossible_changes_are_refused(changed, old, new, expected):
    assert changed(old, new) == expected


@pytest.mark.parametrize(
    ("completed", "failed", "expected"),
    [
        ("0-1,5", "2,4", []),
        ("0-3,5", "2,4", ["failedIndexes and completedIndexes overlap at index: 2"]),
        (
            "x,5",
            "5",
            [
                'error parsing completedIndexes: cannot convert string to integer for index: "x"',
                "failedIndexes and completedIndexes overlap at index: 5",
            ],
        ),
        ("12", "0", ['error parsing completedIndexes: too large index: "12"']),
    ],
)
def test_indexes_of_a_job_are_completed_or_failed(changed, completed, failed, expected):
    indexed = {"completionMode": "Indexed", "completions": 9, "backoffLimitPerIndex": 1}
    status = {"completedIndexes": completed, "failedIndexes": failed}
    texts = changed({}, status, **indexed)
    assert [text.split(": ", 3)[3] for text in texts] == expected


def test_indexed_jobs_that_scale_with_their_parallelism_count_down(changed):
    spec = {"completionMode": "Indexed", "completions": 3, "parallelism": 3}
    assert changed({"succeeded": 2}, {"succeeded": 1}, **spec) == []
