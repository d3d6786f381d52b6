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
