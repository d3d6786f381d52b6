"""A CRD is decoded as Go decodes it."""

import orjson
import pytest

from inkube.schemas import crds
from inkube.schemas.golang import DecodeError

VERSION = {"name": "v1", "served": True, "storage": True}


def decoded_schema(schema):
    body = {"spec": {"versions": [{**VERSION, "schema": {"openAPIV3Schema": schema}}]}}
    crd, unknown = crds.decode(body)
    return crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"], unknown


def test_what_is_left_out_and_has_no_omitempty_is_there():
    crd, unknown = crds.decode({"spec": {"names": {"kind": "Boat"}, "versions": [{}]}})
    assert unknown == []
    assert crd == {
        "metadata": {},
        "spec": {
            "group": "",
            "names": {"kind": "Boat", "plural": ""},
            "scope": "",
            "versions": [{"name": "", "served": False, "storage": False}],
        },
        "status": {
            "acceptedNames": {"kind": "", "plural": ""},
            "conditions": None,
            "storedVersions": None,
        },
    }


def test_empty_and_false_are_dropped_but_pointers_are_kept():
    schema = {
        "description": "",
        "nullable": False,
        "required": [],
        "properties": {},
        "default": None,
        "minLength": 0,
        "minimum": 3.0,
        "maximum": 1.5,
        "enum": [1.0, "", None],
        "additionalProperties": False,
        "x-kubernetes-preserve-unknown-fields": False,
    }
    assert decoded_schema(schema)[0] == {
        "minLength": 0,
        "minimum": 3,
        "maximum": 1.5,
        "enum": [1, "", None],
        "additionalProperties": False,
        "x-kubernetes-preserve-unknown-fields": False,
    }


@pytest.mark.parametrize("limit", [1e19, 1e20, -1e20, 1e300])
def test_limits_no_integer_holds_are_kept(limit):
    schema, _ = decoded_schema({"maximum": limit, "default": limit})
    assert orjson.loads(orjson.dumps(schema)) == {"maximum": limit, "default": limit}


def test_unknown_fields_are_dropped_and_named_in_order():
    schema = {
        "propertys": {},
        "properties": {"a.b": {"typ": 1, "x-kubernetes-validations": [{"a": 1}]}},
    }
    decoded, unknown = decoded_schema(schema)
    at = "spec.versions[0].schema.openAPIV3Schema"
    assert decoded == {"properties": {"a.b": {"x-kubernetes-validations": [{"rule": ""}]}}}
    assert unknown == [
        f"{at}.propertys",
        f"{at}.properties.a.b.typ",
        f"{at}.properties.a.b.x-kubernetes-validations[0].a",
    ]


def test_unknown_fields_of_items_are_dropped_without_an_error():
    decoded, unknown = decoded_schema({"items": {"typ": 1}, "additionalProperties": {"typ": 1}})
    assert decoded == {"items": {}, "additionalProperties": {}}
    assert unknown == []


MISFITS = {
    "a number for a text": (
        {"spec": {"group": 3}},
        (
            "json: cannot unmarshal number into Go struct field "
            "CustomResourceDefinitionSpec.spec.group of type string"
        ),
    ),
    "a fraction for a count": (
        {"spec": {"versions": [{"schema": {"openAPIV3Schema": {"maxLength": 1.5}}}]}},
        (
            "json: cannot unmarshal number 1.5 into Go struct field "
            "JSONSchemaProps.spec.versions.schema.openAPIV3Schema.maxLength of type int64"
        ),
    ),
    "an object for a list": (
        {"spec": {"versions": {}}},
        (
            "json: cannot unmarshal object into Go struct field "
            "CustomResourceDefinitionSpec.spec.versions of type "
            "[]v1.CustomResourceDefinitionVersion"
        ),
    ),
    "a text for a schema or bool": (
        {"spec": {"versions": [{"schema": {"openAPIV3Schema": {"additionalProperties": "x"}}}]}},
        "boolean or JSON schema expected",
    ),
    "a type list": (
        {"spec": {"versions": [{"schema": {"openAPIV3Schema": {"items": {"type": ["a"]}}}}]}},
        (
            "json: cannot unmarshal array into Go struct field "
            "JSONSchemaProps.spec.versions.schema.openAPIV3Schema.items of type string"
        ),
    ),
}


@pytest.mark.parametrize(("body", "text"), MISFITS.values(), ids=MISFITS)
def test_a_value_of_another_type_is_refused(body, text):
    with pytest.raises(DecodeError) as refused:
        crds.decode(body)
    assert refused.value.text == text


def test_a_schema_nested_without_end_is_refused():
    schema = {}
    for _ in range(100_000):
        schema = {"items": schema}
    with pytest.raises(DecodeError, match="exceeded max depth"):
        decoded_schema(schema)


OWNED = "ObjectMeta.metadata.managedFields"
ENTRY = {"manager": "m", "operation": "Apply", "apiVersion": "v1", "fieldsType": "FieldsV1"}


@pytest.mark.parametrize(
    ("metadata", "text"),
    [
        (
            {"managedFields": "a"},
            f"string into Go struct field {OWNED} of type []v1.ManagedFieldsEntry",
        ),
        (
            {"managedFields": [{}, 1]},
            f"number into Go struct field {OWNED} of type v1.ManagedFieldsEntry",
        ),
        (
            {"managedFields": [{**ENTRY, "time": 1}]},
            (
                "number into Go struct field ManagedFieldsEntry.metadata.managedFields.time of "
                "type string"
            ),
        ),
        (
            {"creationTimestamp": []},
            "array into Go struct field ObjectMeta.metadata.creationTimestamp of type string",
        ),
    ],
)
def test_metadata_of_a_wrong_type_is_refused(metadata, text):
    with pytest.raises(DecodeError) as refused:
        crds.decode({"metadata": metadata})
    assert refused.value.text.endswith(f"json: cannot unmarshal {text}")


def test_times_are_written_in_utc():
    time = "2024-01-02T03:04:05.678+01:00"
    crd, _ = crds.decode({"metadata": {"managedFields": [{**ENTRY, "time": time}]}})
    assert crd["metadata"]["managedFields"] == [{**ENTRY, "time": "2024-01-02T02:04:05Z"}]


def test_a_time_that_is_none_is_refused():
    with pytest.raises(DecodeError, match='parsing time "soon" as'):
        crds.decode({"metadata": {"creationTimestamp": "soon"}})


def test_empty_lists_and_maps_of_a_schema_are_reported():
    found = []
    schema = {"type": "object", "definitions": {}, "x-kubernetes-list-map-keys": []}
    body = {"spec": {"versions": [{"name": "v1", "schema": {"openAPIV3Schema": schema}}]}}
    decoded, _ = crds.decode(body, found)
    at = ("spec", "versions", 0, "schema", "openAPIV3Schema")
    assert found == [((*at, "definitions"), {}), ((*at, "x-kubernetes-list-map-keys"), [])]
    assert decoded["spec"]["versions"][0]["schema"]["openAPIV3Schema"] == {"type": "object"}
