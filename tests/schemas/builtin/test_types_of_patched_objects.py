"""The type of what a JSON or merge patch leaves, over all built-in kinds."""

import copy

import pytest
import samples

from inkube.schemas.builtin import conversion, decoding, resources
from inkube.schemas.golang import DecodeError
from inkube.schemas.meta import GVK

KINDS = [
    GVK(found.group, version, found.kind)
    for found in resources.read()
    for version in found.versions
]


def test_a_type_that_is_left_out_is_that_of_the_path():
    for gvk in KINDS:
        obj = {"apiVersion": gvk.api_version, "metadata": {"name": "a"}}
        assert decoding.settle_patched_type(obj, gvk) == []
        assert (obj["apiVersion"], obj["kind"]) == (gvk.api_version, gvk.kind)


def test_an_object_without_a_version_has_no_metadata():
    for gvk in KINDS:
        for head in ({}, {"apiVersion": ""}, {"kind": gvk.kind}):
            obj = {**head, "metadata": {"name": "a"}}
            assert decoding.settle_patched_type(obj, gvk) == ['unknown field "metadata"']
            assert obj == {"apiVersion": gvk.api_version, "kind": gvk.kind, "metadata": {}}


def test_an_unknown_type_is_refused():
    for gvk in KINDS:
        for version, kind in ((gvk.api_version, "Odd"), ("odd/v1", gvk.kind)):
            with pytest.raises(DecodeError, match=f'^no kind "{kind}" is registered'):
                decoding.settle_patched_type({"apiVersion": version, "kind": kind}, gvk)


OWN_SCHEMES = {"apiextensions.k8s.io", "apiregistration.k8s.io"}
"""Groups of other servers, whose schemes know no ConfigMap."""


def test_another_kind_is_not_converted():
    for gvk in KINDS:
        if gvk.kind == "ConfigMap":
            continue
        obj = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}
        if gvk.group in OWN_SCHEMES:
            with pytest.raises(DecodeError, match=r'^no kind "ConfigMap" is registered'):
                decoding.settle_patched_type(obj, gvk)
            continue
        with pytest.raises(DecodeError, match=r"^converting \(v1.ConfigMap\) to \(\w+\."):
            decoding.settle_patched_type(obj, gvk)
        wrong = {"apiVersion": "v1", "kind": "ConfigMap", "data": []}
        with pytest.raises(DecodeError, match="cannot unmarshal array"):
            decoding.settle_patched_type(wrong, gvk)


PAIRS = [
    (other, gvk)
    for gvk in KINDS
    for other in KINDS
    if other != gvk
    and other.kind == gvk.kind
    and (other.group == gvk.group or {other.group, gvk.group} == {"", "events.k8s.io"})
]


def test_another_version_is_read_in_that_version_and_converted():
    assert {other.kind for other, _ in PAIRS} == {"Event", "HorizontalPodAutoscaler"}
    for other, gvk in PAIRS:
        if f"{other.api_version}/{other.kind}" not in samples.OBJECTS:
            continue
        given = samples.make(other.api_version, other.kind) | {"odd": 1}
        read = decoding.decode(copy.deepcopy(given), other).object
        assert decoding.settle_patched_type(given, gvk) == ['unknown field "odd"']
        assert given == conversion.convert(read, gvk.api_version)


def test_a_member_that_only_the_version_of_the_path_has_is_unknown_in_another():
    gvk = GVK("autoscaling", "v1", "HorizontalPodAutoscaler")
    spec = {"maxReplicas": 3, "targetCPUUtilizationPercentage": 7}
    obj = {"apiVersion": "autoscaling/v2", "kind": gvk.kind, "spec": spec}
    unknown = decoding.settle_patched_type(obj, gvk)
    assert unknown == ['unknown field "spec.targetCPUUtilizationPercentage"']
    assert "targetCPUUtilizationPercentage" not in obj["spec"]
