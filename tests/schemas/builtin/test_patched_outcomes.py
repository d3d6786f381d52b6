"""Errors of a strategic patch whose result is not an object of its kind."""

import pytest

from inkube.schemas.builtin import unstructured
from inkube.schemas.meta import GVK

DEPLOYMENT = GVK("apps", "v1", "Deployment")
POD = GVK("", "v1", "Pod")


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        ({"replicas": "many"}, "unrecognized type: int32"),
        ({"replicas": 1.5}, "cannot convert float64 to int32"),
        ({"replicas": 2.0}, ""),
        ({"paused": 1}, "unrecognized type: bool"),
        ({"template": "x"}, "cannot restore struct from: string"),
        ({"template": {"spec": {"containers": {"a": 1}}}}, "cannot restore slice from map"),
        ({"template": {"spec": {"nodeSelector": ["a"]}}}, "cannot restore map from slice"),
        ({"template": {"spec": {"nodeSelector": {"a": 1}}}}, "cannot convert int64 to string"),
        ({"template": {"spec": {"nodeSelector": {"a": True}}}}, "unrecognized type: string"),
        ({"template": {"spec": {"nodeSelector": {"a": None}}}}, ""),
    ],
)
def test_the_converter_names_types_but_no_place(spec, text):
    assert unstructured.trouble({"spec": spec}, DEPLOYMENT) == text


def test_types_that_decode_themselves_are_not_its_business():
    resources = {"limits": {"cpu": 1}}
    obj = {"spec": {"containers": [{"name": "a", "resources": resources}]}}
    assert unstructured.trouble(obj, POD) == ""


@pytest.mark.parametrize(
    ("value", "kind", "text"),
    [
        ({"data": {"a": "?"}}, "Secret", "error decoding from json: illegal base64 data"),
        ({"data": {"a": ["?"]}}, "Secret", "unrecognized type: uint8"),
        ({"data": {"a": [1, 1.5]}}, "Secret", "cannot convert float64 to uint8"),
        ({"data": {"a": {}}}, "Secret", "cannot restore slice from map"),
        ({"spec": {"hard": {"pods": "a"}}}, "ResourceQuota", "quantities must match"),
        ({"spec": {"ports": [{"targetPort": 1.5}]}}, "Service",
         "json: cannot unmarshal number 1.5 into Go value of type int32"),
        ({"spec": {"taints": [{"timeAdded": 5}]}}, "Node",
         "json: cannot unmarshal number into Go value of type string"),
    ],
)  # fmt: skip
def test_types_that_decode_themselves_name_no_field(value, kind, text):
    assert unstructured.trouble(value, GVK("", "v1", kind)).startswith(text)


@pytest.mark.parametrize(
    ("given", "stored"),
    [
        (3.0, 3),
        (2**31, -(2**31)),
        (-(2**31) - 1, 2**31 - 1),
        (2**63 - 1, -1),
        (2.0**63, 0),
        (1e300, 0),
        (True, True),
    ],
)
def test_whole_numbers_wrap_as_go_converts_them(given, stored):
    converted = unstructured.convert_numbers({"spec": {"replicas": given}}, DEPLOYMENT)
    assert converted == {"spec": {"replicas": stored}}


@pytest.mark.parametrize(
    ("given", "byte"), [(1, 1), (255, 255), (256, 0), (-1, 255), (2.0, 2), (1e300, 0), (None, None)]
)
def test_bytes_wrap_as_go_converts_them(given, byte):
    secret = GVK("", "v1", "Secret")
    assert unstructured.trouble({"data": {"a": [given]}}, secret) == ""
    assert unstructured.convert_numbers({"data": {"a": [given]}}, secret) == {"data": {"a": [byte]}}


def test_numbers_in_maps_lists_and_unknown_members_are_reached():
    spec = {"containers": [{"ports": [{"hostPort": 2**32 + 1}]}], "unknown": 2.0**70}
    converted = unstructured.convert_numbers({"spec": spec}, POD)
    assert converted["spec"]["containers"] == [{"ports": [{"hostPort": 1}]}]
    assert converted["spec"]["unknown"] == 2.0**70
