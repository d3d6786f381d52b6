"""Different checks of custom resources in older minors."""

import boats
import pytest

from inkube.schemas import crds
from inkube.schemas.structural import CompiledSchema

SCHEMA = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "format": "k8s-short-name"},
        "day": {"type": "string", "format": "date"},
        "counts": {"type": "array", "items": {"type": "integer", "format": "int32"}},
        "share": {"type": "object", "additionalProperties": {"type": "integer"}},
    },
}


def told(minor, value):
    return [
        error.text()
        for error in CompiledSchema(SCHEMA, resource_root=False, minor=minor).validate(value)
    ]


@pytest.mark.parametrize(("minor", "checked"), [(31, False), (34, False), (35, True), (36, True)])
def test_names_of_kubernetes_are_a_format_since_1_35(minor, checked):
    assert bool(told(minor, {"name": "Not_A_Name"})) is checked
    assert told(minor, {"day": "2023-02-29"})


@pytest.mark.parametrize(("minor", "checked"), [(31, False), (35, False), (36, True)])
def test_integers_have_a_range_by_their_format_since_1_36(minor, checked):
    assert bool(told(minor, {"counts": [1, 2**31]})) is checked


@pytest.mark.parametrize(("minor", "errors"), [(31, 1), (34, 1), (35, 2), (36, 2)])
def test_a_fraction_is_out_of_the_range_of_integers_since_1_35(minor, errors):
    assert len(told(minor, {"share": {"a": 1.5}})) == errors


def test_a_schema_that_loses_no_format_is_not_copied():
    plain = {"type": "object", "properties": {"a": {"type": "string", "format": "uri"}}}
    assert CompiledSchema(plain, minor=31).schema is plain


def crd(rule):
    schema = {
        "type": "object",
        "properties": {
            "spec": {
                "type": "object",
                "properties": {
                    "names": {
                        "type": "array",
                        "maxItems": 3,
                        "items": {"type": "string", "maxLength": 9},
                    }
                },
                "x-kubernetes-validations": [{"rule": rule}],
            }
        },
    }
    made, _ = crds.decode(boats.definition(schema))
    crds.default(made)
    crds.prepare_create(made)
    return made


@pytest.mark.parametrize(
    ("rule", "since"),
    [
        ("ip('10.0.0.1').family() == 4", 31),
        ("!format.dns1123Label().validate('a').hasValue()", 32),
        ("isSemver('1.0.0')", 34),
        ("!has(self.names) || self.names.sort() == self.names", 35),
    ],
)
def test_a_rule_may_call_what_the_minor_before_could_run(rule, since):
    found = crd(rule)
    for minor in range(31, 37):
        errors = crds.validate_create(found, minor)
        assert bool(errors) is (minor < since), minor
        assert not errors or "undeclared reference" in errors[0].detail
        assert crds.validate_update(found, found, minor) == []  # stored definitions stay valid
