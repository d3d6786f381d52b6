"""Types of JSON schemas inside JSON schemas: applies check them at any depth."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inkube.schemas.builtin import unstructured
from inkube.schemas.builtin.kinddefinitions import by_name
from inkube.schemas.meta import GVK
from inkube.schemas.ownership import typedvalidation
from inkube.schemas.ownership.typed import TypedSchema

KIND = GVK("apiextensions.k8s.io", "v1", "CustomResourceDefinition")
CRDS = by_name()["apiextensions.k8s.io", "customresourcedefinitions"]
TYPED = TypedSchema(CRDS.storage_version.schema, custom=False)
STEPS = {
    "not": lambda inner: {"not": inner},
    "allOf[1]": lambda inner: {"allOf": [{"type": "object"}, inner]},
    "properties.a": lambda inner: {"properties": {"a": inner}},
    "definitions.a": lambda inner: {"definitions": {"a": inner}},
    "patternProperties.a": lambda inner: {"patternProperties": {"a": inner}},
}
"""The members of a schema that contain another, by their path."""


def problems(schema):
    version = {"name": "v1", "schema": {"openAPIV3Schema": schema}}
    return TYPED.problems({"metadata": {}, "spec": {"versions": [version]}})


@pytest.mark.parametrize(
    ("value", "member", "message"),
    [
        ({"maximum": "x"}, "maximum", "expected numeric (int or float), got string"),
        ({"typo": 1}, "typo", "field not declared in schema"),
        ({"type": 5}, "type", "expected string, got &value.valueUnstructured{Value:5}"),
    ],
)
@settings(max_examples=15, deadline=None)
@given(steps=st.lists(st.sampled_from(sorted(STEPS)), max_size=6))
def test_a_mistake_is_named_at_any_depth(value, member, message, steps):
    schema = value
    for step in reversed(steps):
        schema = STEPS[step](schema)
    path = ".".join([".spec.versions[0].schema.openAPIV3Schema", *steps, member])
    assert typedvalidation.text(problems(schema)) == f"{path}: {message}"


@pytest.mark.parametrize("member", ["items", "additionalProperties", "additionalItems"])
def test_types_that_decode_themselves_take_anything(member):
    assert problems({"properties": {"a": {member: {"typo": 5}}}}) == []


@pytest.mark.parametrize("wrong", [{"items": {"type": 5}}, {"items": [{"type": 5}]}])
def test_schemas_that_decode_themselves_name_their_own_fields(wrong):
    version = {"name": "v1", "schema": {"openAPIV3Schema": wrong}}
    found = unstructured.trouble({"spec": {"versions": [version]}}, KIND)
    field = "Go struct field JSONSchemaProps.type of type string"
    assert found == f"json: cannot unmarshal number into {field}"
