"""How many errors an update of a built-in kind reports for one invalid label."""

import pytest

from inkube.schemas.builtin import lookup

OLD = {"name": "a", "namespace": "d", "uid": "u", "resourceVersion": "1"}


@pytest.mark.parametrize(
    ("group", "plural", "times"),
    [
        ("", "configmaps", 4),
        ("", "limitranges", 3),
        ("apps", "deployments", 3),
        ("policy", "poddisruptionbudgets", 2),
        ("rbac.authorization.k8s.io", "roles", 4),
    ],
)
def test_a_label_is_refused_as_often_as_it_is_looked_at(group, plural, times):
    kind = lookup.strategy_of(group, plural)
    errors = kind.validate_metadata(OLD | {"labels": {"a": "no space"}}, OLD, "")
    assert [error.field for error in errors] == ["metadata.labels"] * times


def test_a_status_write_looks_three_times():
    kind = lookup.strategy_of("", "pods")
    errors = kind.validate_metadata(OLD | {"labels": {"a": "no space"}}, OLD, "status")
    assert len(errors) == 3


def test_what_is_immutable_is_said_twice():
    kind = lookup.strategy_of("apps", "deployments")
    errors = kind.validate_metadata(OLD | {"uid": "v"}, OLD, "")
    assert [error.text() for error in errors] == [
        'metadata.uid: Invalid value: "v": field is immutable'
    ] * 2
