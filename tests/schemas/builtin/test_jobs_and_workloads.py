"""Errors of jobs' policies and of workloads' selectors, strategies and claims."""

import pytest

from inkube.schemas.builtin import rules
from inkube.schemas.builtin.rules.calls import batch
from inkube.schemas.builtin.rules.frames import Frame


def errors_without_template(job):
    found = rules.errors("batch.v1.JobSpec", job, "spec")
    return [error.text() for error in found if not error.text().startswith("spec.template")]


@pytest.mark.parametrize(
    ("indexes", "why"),
    [
        ("0-1,1", "non-increasing order, previous: 1, current: 1"),
        ("1-1", "non-increasing order, previous: 1, current: 1"),
        ("0-1-2", ('the fragment "0-1-2" violates the requirement that an index interval can have '
                  "at most two parts separated by '-'")),
        ("3", 'too large index: "3"'),
        ("x", 'cannot convert string to integer for index: "x"'),
        ("0,", 'cannot convert string to integer for index: ""'),
    ],
)  # fmt: skip
def test_indexes_are_read_as_upstream_reads_them(indexes, why):
    policy = {"rules": [{"succeededIndexes": indexes}]}
    job = {"completionMode": "Indexed", "completions": 3, "successPolicy": policy}
    place = "spec.successPolicy.rules[0].succeededIndexes"
    assert errors_without_template(job) == [
        f'{place}: Invalid value: "{indexes}": error parsing succeededIndexes: {why}'
    ]


def test_a_count_is_held_against_completions_and_indexes():
    policy = {"rules": [{"succeededIndexes": "0,2-3", "succeededCount": 6}]}
    job = {"completionMode": "Indexed", "completions": 5, "successPolicy": policy}
    place = (
        "spec.successPolicy.rules[0].succeededCount: Invalid value: 6: must be less than or equal"
    )
    assert errors_without_template(job) == [
        f"{place} to 5 (the number of specified completions)",
        f"{place} to 3 (the number of indexes in the specified succeededIndexes field)",
    ]


def test_a_success_policy_is_for_indexed_jobs_and_shown_as_the_internal_type():
    job = {"completionMode": "NonIndexed", "successPolicy": {"rules": [{"succeededCount": 1}]}}
    assert errors_without_template(job) == [
        (
            'spec.successPolicy: Invalid value: {"Rules":[{"SucceededIndexes":null,'
            '"SucceededCount":1}]}: requires indexed completion mode'
        )
    ]


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ("", "Required value"),
        ("x", 'Invalid value: "x": must be a domain-prefixed path (such as "acme.io/foo")'),
        ("/x", 'Invalid value: "/x": must be a domain-prefixed path (such as "acme.io/foo")'),
        ("a.b/" + "c" * 60, "Too long: may not be more than 63 bytes"),
        ("a.b/c", None),
    ],
)
def test_a_manager_is_a_path_below_a_domain(value, why):
    frame = Frame({}, "spec.", None, None, updates=False)
    found = [error.message() for error in batch.manager(value, "spec.managedBy", frame)]
    assert found == ([] if why is None else [why])


def test_many_indexes_have_bounds_of_their_own():
    job = {
        "completionMode": "Indexed", "completions": 100_001, "backoffLimitPerIndex": 1,
        "parallelism": 10_001,
    }  # fmt: skip
    assert errors_without_template(job) == [
        "spec.maxFailedIndexes: Required value: must be specified when completions is above 100000",
        (
            "spec.parallelism: Invalid value: 10001: must be less than or equal to 10000 when "
            "completions are above 100000 and used with backoff limit per index"
        ),
    ]
