"""Which requests the match constraints of policies select."""

import pytest

from inkube.schemas.meta import GVR
from inkube.schemas.policies.matching import Target, matched_resource

V1, V2 = GVR("apps", "v1", "deployments"), GVR("apps", "v2", "deployments")


def target(**changes):
    known = {
        "operation": "CREATE",
        "resources": (V1,),
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
    assert matched_resource(None, target()) == V1
    assert matched_resource({}, target()) == V1


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
    found = matched_resource(
        {"resourceRules": [rule(resources=resources)]}, target(subresource=subresource)
    )
    assert (found is not None) is expected


def test_another_version_matches_unless_the_policy_is_exact():
    rules = {"resourceRules": [rule(apiVersions=["v2"])]}
    asked = target(resources=(V1, V2))
    assert matched_resource({**rules, "matchPolicy": "Equivalent"}, asked) == V2
    assert matched_resource({**rules, "matchPolicy": "Exact"}, asked) is None


def test_excluded_rules_outweigh_the_others():
    excluded = rule(resourceNames=["a"])
    constraints = {"resourceRules": [rule()], "excludeResourceRules": [excluded]}
    assert matched_resource(constraints, target()) is None
    assert matched_resource(constraints, target(name="b")) == V1


def test_either_object_may_carry_the_label():
    constraints = {"objectSelector": {"matchLabels": {"a": "b"}}}
    bare = {"metadata": {}}
    assert matched_resource(constraints, target(objects=(bare, *target().objects))) == V1
    assert matched_resource(constraints, target(objects=(bare,))) is None


def test_namespace_labels_count_where_there_is_a_namespace():
    constraints = {"namespaceSelector": {"matchLabels": {"team": "blue"}}}
    assert matched_resource(constraints, target()) is None
    assert matched_resource(constraints, target(namespace_labels=None)) == V1
