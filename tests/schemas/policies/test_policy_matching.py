"""Which requests the match constraints of policies select."""

import pytest

from inkube.schemas.policies.matching import Target, matched_version


def target(**changes):
    known = {
        "operation": "CREATE",
        "group": "apps",
        "versions": ("v1",),
        "resource": "deployments",
        "subresource": "",
        "namespaced": True,
        "name": "a",
        "objects": ({"metadata": {"labels": {"a": "b"}}},),
        "namespace_labels": {"team": "red"},
    }
    return Target(**{**known, **changes})


def rule(**changes):
    known = {
        "apiGroups": ["apps"],
        "apiVersions": ["v1"],
        "resources": ["deployments"],
        "operations": ["CREATE"],
    }
    return {**known, **changes}


def test_no_constraints_match_everything():
    assert matched_version(None, target()) == "v1"
    assert matched_version({}, target()) == "v1"


@pytest.mark.parametrize(
    ("resources", "subresource", "expected"),
    [
        (["deployments"], "", True),
        (["deployments"], "status", False),
        (["deployments/status"], "status", True),
        (["deployments/status"], "", False),
        (["*"], "", True),
        (["*"], "status", False),
        (["*/status"], "status", True),
        (["deployments/*"], "scale", True),
        (["pods"], "", False),
    ],
)
def test_resources_and_subresources_are_apart(resources, subresource, expected):
    found = matched_version(
        {"resourceRules": [rule(resources=resources)]}, target(subresource=subresource)
    )
    assert (found is not None) is expected


def test_another_version_matches_unless_exact_is_asked_for():
    rules = {"resourceRules": [rule(apiVersions=["v2"])]}
    asked = target(versions=("v1", "v2"))
    assert matched_version({**rules, "matchPolicy": "Equivalent"}, asked) == "v2"
    assert matched_version({**rules, "matchPolicy": "Exact"}, asked) is None


def test_excluded_rules_outweigh_the_others():
    excluded = rule(resourceNames=["a"])
    constraints = {"resourceRules": [rule()], "excludeResourceRules": [excluded]}
    assert matched_version(constraints, target()) is None
    assert matched_version(constraints, target(name="b")) == "v1"


def test_either_object_may_carry_the_label():
    constraints = {"objectSelector": {"matchLabels": {"a": "b"}}}
    bare = {"metadata": {}}
    assert matched_version(constraints, target(objects=(bare, *target().objects))) == "v1"
    assert matched_version(constraints, target(objects=(bare,))) is None


def test_namespace_labels_count_where_there_is_a_namespace():
    constraints = {"namespaceSelector": {"matchLabels": {"team": "blue"}}}
    assert matched_version(constraints, target()) is None
    assert matched_version(constraints, target(namespace_labels=None)) == "v1"
