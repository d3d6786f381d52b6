"""Embedded objects: their apiVersion, kind and metadata."""

from typing import Any

import pytest

from inkube.schemas.golang.unmarshal import DecodeError
from inkube.schemas.structural.compiled import CompiledSchema

INNER = {
    "type": "object",
    "x-kubernetes-embedded-resource": True,
    "x-kubernetes-preserve-unknown-fields": True,
}
SCHEMA = CompiledSchema(
    {
        "type": "object",
        "properties": {
            "spec": {
                "type": "object",
                "properties": {
                    "one": INNER,
                    "by": {"type": "object", "additionalProperties": INNER},
                    "all": {"type": "array", "items": INNER},
                },
            }
        },
    }
)
GOOD = {"apiVersion": "g/v1", "kind": "Inner"}


def read(**spec: Any) -> dict[str, Any]:
    obj = {"spec": spec}
    SCHEMA.prune_and_default(obj, [])
    return obj


def test_a_valid_embedded_object_passes() -> None:
    obj = read(one={**GOOD, "metadata": {"name": "a", "labels": {"x": "y"}}, "data": 1})

    assert SCHEMA.validate(obj) == []
    assert obj["spec"]["one"]["data"] == 1


def test_version_and_kind_are_required_wherever_it_stands() -> None:
    obj = read(one={}, by={"k": {"kind": "K"}}, all=[{"apiVersion": "v1"}])

    assert [error.text() for error in SCHEMA.validate(obj)] == [
        "spec.one.apiVersion: Required value",
        "spec.one.kind: Required value",
        "spec.by[k].apiVersion: Required value",
        "spec.all[0].kind: Required value",
    ]


@pytest.mark.parametrize(
    ("members", "expected"),
    [
        ({"apiVersion": ""}, 'apiVersion: Invalid value: "": must not be empty'),
        (
            {"apiVersion": "a/b/c"},
            'apiVersion: Invalid value: "a/b/c": unexpected GroupVersion string: a/b/c',
        ),
        ({"kind": ""}, 'kind: Invalid value: "": must not be empty'),
        ({"kind": "9"}, 'kind: Invalid value: "9": may have mixed case, but should'),
        (
            {"metadata": {"name": "a/b"}},
            "metadata.name: Invalid value: \"a/b\": may not contain '/'",
        ),
        ({"metadata": {"namespace": "A"}}, 'metadata.namespace: Invalid value: "A": a lowercase'),
        ({"metadata": {"labels": {"a": "b c"}}}, 'metadata.labels: Invalid value: "b c": a valid'),
    ],
)
def test_embedded_resources_must_be_well_formed(members: dict[str, Any], expected: str) -> None:
    (error,) = SCHEMA.validate(read(one={**GOOD, **members}))

    assert error.text().startswith(f"spec.one.{expected}")


@pytest.mark.parametrize(
    ("members", "expected"),
    [
        ({"kind": 5}, "spec.one.kind: Invalid value: 5: must be a string"),
        ({"kind": None}, "spec.one.kind: Invalid value: null: must be a string"),
        (
            {"metadata": {"finalizers": "x"}},
            (
                'spec.one.metadata: Invalid value: {"finalizers":"x"}: json: cannot unmarshal '
                "string into Go struct field ObjectMeta.finalizers of type []string"
            ),
        ),
        (
            {"metadata": ["a"]},
            (
                'spec.one.metadata: Invalid value: ["a"]: json: cannot unmarshal array into Go '
                "value of type v1.ObjectMeta"
            ),
        ),
    ],
)
def test_wrong_types_are_refused_while_reading(members: dict[str, Any], expected: str) -> None:
    with pytest.raises(DecodeError) as refused:
        read(one={**GOOD, **members})

    assert refused.value.text == expected
    # an object of another kind than its address is only validated
    (error,) = SCHEMA.validate({"spec": {"one": {**GOOD, **members}}})
    assert error.text() == expected


def test_wrong_types_in_the_store_are_dropped() -> None:
    obj = {"spec": {"one": {**GOOD, "kind": 5, "metadata": {"name": "a", "labels": 1}}}}

    SCHEMA.prune_and_default(obj, None, lenient=True)

    assert obj == {"spec": {"one": {"apiVersion": "g/v1", "metadata": {"name": "a"}}}}
