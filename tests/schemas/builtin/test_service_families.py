"""The IP families of services: a law for all specs, and upstream's decisions one by one."""

import copy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inkube.schemas.builtin.strategies import families

ADDRESSES = st.sampled_from(["10.0.0.5", "10.0.0.6", "fd00::5", "None", "x"])
SPECS = st.fixed_dictionaries(
    {"type": st.sampled_from(["ClusterIP", "NodePort"])},
    optional={
        "clusterIPs": st.lists(ADDRESSES, max_size=3),
        "ipFamilies": st.lists(st.sampled_from(["IPv4", "IPv6", "IPv5"]), max_size=3),
        "ipFamilyPolicy": st.sampled_from(["SingleStack", "PreferDualStack", "RequireDualStack"]),
        "selector": st.just({"a": "b"}),
    },
).map(lambda spec: spec | ({"clusterIP": ips[0]} if (ips := spec.get("clusterIPs")) else {}))
CLUSTERS = st.sampled_from([("IPv4",), ("IPv6",), ("IPv4", "IPv6"), ("IPv6", "IPv4")])


def stored(spec, cluster):
    """Return the spec as an earlier write stored it: with families and as many addresses."""
    families.settle(spec, {}, cluster)
    free = {"IPv4": "10.0.0.9", "IPv6": "fd00::9"}
    given_ = spec.get("clusterIPs") or []
    if "None" not in given_:
        spec["clusterIPs"] = [*given_, *(free[each] for each in spec["ipFamilies"][len(given_) :])]
    return spec | {"clusterIP": spec["clusterIPs"][0]}


@given(SPECS, CLUSTERS, st.none() | SPECS)
def test_families_are_settled_once_and_nothing_is_settled_with_an_error(spec, cluster, before):
    if before is not None:
        if not families.is_well_formed(before) or families.refused(before, {}, cluster):
            return
        before = stored(before, cluster)
    old, begun = before or {}, copy.deepcopy(spec)
    errors = families.settle(spec, old, cluster)
    if errors or not families.is_well_formed(begun):
        assert spec == begun
        return
    settled = copy.deepcopy(spec)
    assert families.settle(spec, settled, cluster) == []
    assert spec == settled
    chosen, policy = spec.get("ipFamilies"), spec.get("ipFamilyPolicy")
    if policy == "SingleStack":
        assert len(chosen) == 1
    is_free = spec.get("clusterIP") == "None" and not spec.get("selector")
    if policy == "RequireDualStack":
        assert len(chosen) == 2
    if not is_free:
        assert set(chosen) <= set(cluster)


V4, V6, BOTH = ["IPv4"], ["IPv6"], ["IPv4", "IPv6"]
DUAL, SINGLE = ("IPv4", "IPv6"), ("IPv4",)
TWO = {"clusterIP": "10.0.0.5", "clusterIPs": ["10.0.0.5", "fd00::5"], "ipFamilies": BOTH}
NONE = {"clusterIP": "None", "clusterIPs": ["None"]}
PREFER, REQUIRE = {"ipFamilyPolicy": "PreferDualStack"}, {"ipFamilyPolicy": "RequireDualStack"}
NOT_HERE = "not configured on this cluster"


@pytest.mark.parametrize(
    ("spec", "before", "cluster", "expected"),
    [
        ({}, {}, SINGLE, (V4, "SingleStack")),
        ({}, {}, ("IPv6", "IPv4"), (V6, "SingleStack")),
        (PREFER, {}, SINGLE, (V4, "PreferDualStack")),
        (PREFER, {}, DUAL, (BOTH, "PreferDualStack")),
        ({"ipFamilies": V6, **REQUIRE}, {}, DUAL, (["IPv6", "IPv4"], "RequireDualStack")),
        (NONE, {}, SINGLE, (BOTH, "RequireDualStack")),
        (NONE | {"selector": {"a": "b"}}, {}, SINGLE, (V4, "SingleStack")),
        ({"clusterIP": "fd00::5", "clusterIPs": ["fd00::5"]}, {}, DUAL, (V6, "SingleStack")),
        (TWO | {"ipFamilyPolicy": "SingleStack"}, TWO | REQUIRE, DUAL, (V4, "SingleStack")),
        # an unchanged preference does not follow the cluster
        ({"ipFamilies": V4} | PREFER, {"ipFamilies": V4} | PREFER, DUAL, (V4, "PreferDualStack")),
        (REQUIRE, {}, SINGLE, "this cluster is not configured for dual-stack services"),
        ({"ipFamilies": V6}, {}, SINGLE, NOT_HERE),
        (
            {"clusterIP": "fd00::5", "clusterIPs": ["fd00::5"]}, {}, SINGLE,
            "IPv6 is not configured on this cluster",
        ),
        (TWO, {}, DUAL, "must be 'RequireDualStack' or 'PreferDualStack' when multiple cluster"),
        (
            TWO | REQUIRE | {"clusterIPs": ["10.0.0.5"]}, TWO | REQUIRE, DUAL,
            "must be 'SingleStack' to release the secondary cluster IP",
        ),
    ],
)  # fmt: skip
def test_each_decision_is_upstreams(spec, before, cluster, expected):
    spec, before = {"type": "ClusterIP"} | spec, ({"type": "ClusterIP"} | before if before else {})
    errors = families.settle(spec, before, cluster)
    if isinstance(expected, str):
        assert expected in errors[0].text()
    else:
        assert (errors, spec["ipFamilies"], spec["ipFamilyPolicy"]) == ([], *expected)
