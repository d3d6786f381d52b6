"""The type of what a JSON or merge patch leaves, over all built-in kinds."""

import pytest

from inkube.schemas.builtin import decoding, resources
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


def test_another_kind_is_not_converted():
    for gvk in KINDS:
        if gvk.kind == "ConfigMap":
            continue
        obj = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}
        with pytest.raises(DecodeError, match=r"^converting \(v1.ConfigMap\) to \(\w+\."):
            decoding.settle_patched_type(obj, gvk)
        wrong = {"apiVersion": "v1", "kind": "ConfigMap", "data": []}
        with pytest.raises(DecodeError, match="cannot unmarshal array"):
            decoding.settle_patched_type(wrong, gvk)
