"""Resource quotas on object counts, without a server."""

import pytest

from inkube.schemas.builtin import quotas


def test_one_too_many_is_refused():
    beyond = quotas.exceeded({"configmaps": "2"}, {"configmaps": 2}, {"configmaps": 1})
    assert quotas.refusal("q", beyond) == (
        "exceeded quota: q, requested: configmaps=1, used: configmaps=2, limited: configmaps=2"
    )


def test_what_fits_is_not_exceeded():
    assert quotas.exceeded({"configmaps": "2"}, {"configmaps": 1}, {"configmaps": 1}) == {}


@pytest.mark.parametrize(
    ("name", "counted"),
    [
        ("configmaps", ("", "configmaps")),
        ("count/deployments.apps", ("apps", "deployments")),
        ("services.nodeports", ("", "services")),
        ("requests.cpu", None),
    ],
)
def test_names_count_objects_of_one_resource(name, counted):
    assert quotas.counted(name) == counted


def test_pods_count_until_they_end():
    assert quotas.total("pods", [{}, {"status": {"phase": "Running"}}]) == 2
    assert quotas.total("pods", [{"status": {"phase": "Succeeded"}}]) == 0


def test_a_quota_for_some_pods_counts_nothing():
    assert quotas.limits({"spec": {"hard": {"pods": "1"}, "scopes": ["BestEffort"]}}) == {}
