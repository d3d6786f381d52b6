"""Errors of schemas in a CustomResourceDefinition."""

import pytest

from inkube.schemas import crds

SCHEMA = "spec.validation.openAPIV3Schema"


def crd(schema, **version):
    body = {
        "metadata": {"name": "boats.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": "boats", "kind": "Boat"},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": schema},
                    **version,
                }
            ],
        },
    }
    decoded, unknown = crds.decode(body)
    assert unknown == []
    crds.default(decoded)
    crds.prepare_create(decoded)
    return decoded


def with_field(**field):
    spec = {"type": "object", "properties": {"f": field}}
    return crd({"type": "object", "properties": {"spec": spec}})


def said(found):
    return [(error.field, error.message()) for error in found]


IN_FIELD = {
    "no type": ({}, ".type", "Required value: must not be empty for specified object fields"),
    "a type that is none": (
        {"type": "text"},
        ".type",
        (
            'Unsupported value: "text": supported values: "array", "boolean", "integer", "number", '
            '"object", "string"'
        ),
    ),
    "an array without items": ({"type": "array"}, ".items", "Required value: must be specified"),
    "a pattern too deep": (
        {"type": "string", "pattern": "(" * 1000 + "a" + ")" * 1000},
        ".pattern",
        (
            f'Invalid value: "{"(" * 1000}a{")" * 1000}": must be a valid regular expression, but '
            "isn't: error parsing regexp: expression nests too deeply: "
            f"`{'(' * 1000}a{')' * 1000}`"
        ),
    ),
    "a pattern that is none": (
        {"type": "string", "pattern": "a**"},
        ".pattern",
        (
            'Invalid value: "a**": must be a valid regular expression, but isn\'t: '
            "error parsing regexp: invalid nested repetition operator: `**`"
        ),
    ),
    "a type under anyOf": (
        {"type": "string", "anyOf": [{"type": "string"}]},
        ".anyOf[0].type",
        "Forbidden: must be empty to be structural",
    ),
    "a set of unlike maps": (
        {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "object"}},
        ".items.x-kubernetes-map-type",
        "Invalid value: null: must be atomic as item of a list with x-kubernetes-list-type=set",
    ),
    "a map without keys": (
        {"type": "array", "x-kubernetes-list-type": "map", "items": {"type": "object"}},
        ".x-kubernetes-list-map-keys",
        "Required value: must not be empty if x-kubernetes-list-type is map",
    ),
    "unique items": (
        {"type": "array", "uniqueItems": True, "items": {"type": "string"}},
        ".uniqueItems",
        (
            "Forbidden: uniqueItems cannot be set to true "
            "since the runtime complexity becomes quadratic"
        ),
    ),
    "an embedded resource of nothing": (
        {"type": "object", "x-kubernetes-embedded-resource": True},
        ".properties",
        (
            "Required value: must not be empty if x-kubernetes-embedded-resource is true without "
            "x-kubernetes-preserve-unknown-fields"
        ),
    ),
    "$schema": ({"type": "string", "$schema": "x"}, None, None),
    "a rule without text": (
        {"type": "string", "x-kubernetes-validations": [{"rule": " "}]},
        ".x-kubernetes-validations[0].rule",
        "Required value: rule is not specified",
    ),
    "a rule for a field that is not there": (
        {
            "type": "object",
            "properties": {"a": {"type": "string"}},
            "x-kubernetes-validations": [{"rule": "true", "fieldPath": ".b"}],
        },
        ".x-kubernetes-validations[0].fieldPath",
        'Invalid value: ".b": must be a valid path',
    ),
}


@pytest.mark.parametrize(("field", "where", "message"), IN_FIELD.values(), ids=IN_FIELD)
def test_a_field_is_checked(field, where, message):
    found = said(crds.validate_create(with_field(**field)))
    if where is None:
        text = "Invalid value: \"\": OpenAPIV3Schema 'schema' is not supported"
        assert found == [(SCHEMA, text)]
    else:
        assert found == [(f"{SCHEMA}.properties[spec].properties[f]{where}", message)]


def test_int_or_string_may_name_its_two_types():
    pair = [{"type": "integer"}, {"type": "string"}]
    both = {"x-kubernetes-int-or-string": True, "anyOf": pair}
    assert crds.validate_create(with_field(**both)) == []
    nested = {"x-kubernetes-int-or-string": True, "allOf": [{"anyOf": pair}, {"pattern": "a"}]}
    assert crds.validate_create(with_field(**nested)) == []
    swapped = {"x-kubernetes-int-or-string": True, "anyOf": pair[::-1]}
    assert len(crds.validate_create(with_field(**swapped))) == 2


def test_what_the_roots_logic_names_must_exist():
    schema = {"type": "object", "anyOf": [{"properties": {"a": {"minLength": 1}}}]}
    assert said(crds.validate_create(crd(schema))) == [
        (
            f"{SCHEMA}.properties[a]",
            f"Required value: because it is defined in {SCHEMA}.anyOf[0].properties[a]",
        )
    ]


def test_the_root_of_a_schema_beside_a_status_has_limited_members():
    found = crds.validate_create(
        crd({"type": "object", "maxProperties": 3}, subresources={"status": {}})
    )
    assert [error.field for error in found] == [SCHEMA]
    message = found[0].message()
    assert message.startswith('Invalid value: {"ID":"","Schema":"","Ref":null,"Description":"",')
    assert '"Type":"object"' in message
    assert '"MaxProperties":3' in message
    assert message.endswith(
        "XValidations] fields are allowed at the root of the schema "
        "if the status subresource is enabled"
    )


def test_a_format_nobody_knows_is_worth_a_warning():
    formats = {"a": ("string", "date"), "b": ("integer", "int32"), "c": ("string", "no-such")}
    fields = {name: {"type": kind, "format": shape} for name, (kind, shape) in formats.items()}
    warned = crd({"type": "object", "properties": fields})
    assert crds.validate_create(warned) == []
    assert crds.warnings(warned) == ['unrecognized format "no-such"']


DEFAULTS = {
    "of another type": (
        {"type": "string", "default": 5},
        [("", 'Invalid value: "integer":  in body must be of type string: "integer"')],
    ),
    "out of bounds, deep below": (
        {
            "type": "object",
            "default": {"l": [{"n": 0}]},
            "properties": {
                "l": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "properties": {"n": {"type": "integer", "minimum": 1}},
                    },
                }
            },
        },
        [(".l[0].n", "Invalid value: 0: l[0].n in body should be greater than or equal to 1")],
    ),
    "of a key of a map": (
        {
            "type": "object",
            "default": {"p": 0, "r.s": 1},
            "additionalProperties": {"type": "integer", "minimum": 1},
        },
        [(".p", "Invalid value: 0: .p in body should be greater than or equal to 1")],
    ),
    "deep in a map": (
        {
            "type": "object",
            "default": {"p": [{"n": 0}]},
            "additionalProperties": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {"n": {"type": "integer", "minimum": 1}},
                },
            },
        },
        [(".p[0].n", "Invalid value: 0: .p[0].n in body should be greater than or equal to 1")],
    ),
    "of an int-or-string, whose type no default must have": (
        {
            "type": "object",
            "default": {"a": True, "b": [0.5], "c": {"k": {}}, "x-kubernetes-int-or-string": 0},
            "properties": {
                "a": {"x-kubernetes-int-or-string": True},
                "b": {"type": "array", "items": {"x-kubernetes-int-or-string": True}},
                "c": {
                    "type": "object",
                    "additionalProperties": {"x-kubernetes-int-or-string": True},
                },
                "x-kubernetes-int-or-string": {"type": "integer", "minimum": 1},
            },
        },
        [
            (
                ".x-kubernetes-int-or-string",
                (
                    "Invalid value: 0: x-kubernetes-int-or-string in body should be greater "
                    "than or equal to 1"
                ),
            ),
        ],
    ),
    "that would be pruned": (
        {"type": "array", "items": {"type": "object"}, "default": [{"a": 1}]},
        [("", 'Invalid value: [{"a":1}]: must not have unknown fields')],
    ),
    "of an embedded resource": (
        {
            "type": "object",
            "x-kubernetes-embedded-resource": True,
            "x-kubernetes-preserve-unknown-fields": True,
            "default": {"apiVersion": "v1", "metadata": {"labels": {"a b": ""}}},
        },
        [
            (".kind", "Required value"),
            (
                ".metadata.labels",
                (
                    'Invalid value: "a b": name part must consist of alphanumeric characters, '
                    "'-', '_' or '.', and must start and end with an alphanumeric character "
                    "(e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
                    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
                ),
            ),
        ],
    ),
    "of embedded resources in a map": (
        {
            "type": "object",
            "default": {"p": {"kind": "K"}},
            "additionalProperties": {
                "type": "object",
                "x-kubernetes-embedded-resource": True,
                "x-kubernetes-preserve-unknown-fields": True,
            },
        },
        [("[p].apiVersion", "Required value")],
    ),
    "in an embedded resource's metadata": (
        {
            "type": "object",
            "x-kubernetes-embedded-resource": True,
            "properties": {
                "metadata": {
                    "type": "object",
                    "properties": {
                        "labels": {"type": "object", "default": {"a": "b c"}},
                    },
                }
            },
        },
        None,
    ),
    "without what is required, though that has a default": (
        {
            "type": "object",
            "default": {},
            "required": ["n"],
            "properties": {"n": {"type": "integer", "default": 3}},
        },
        [(".n", "Required value")],
    ),
}


WRONG_INTEGER = [
    ("", 'Invalid value: "number":  in body must be of type integer: "number"'),
    ("", 'Invalid value: "": Checked value must be of type integer (default format) in '),
]
BEYOND_INT64 = {
    "of a text": (
        {"type": "string", "default": 2**63},
        [("", 'Invalid value: "number":  in body must be of type string: "number"')],
    ),
    "of an integer": ({"type": "integer", "default": 2**63}, WRONG_INTEGER),
    "below, of an integer": ({"type": "integer", "default": -(2.0**63)}, WRONG_INTEGER),
    "of a number with a maximum": (
        {"type": "number", "default": 2**63, "maximum": 1},
        [("", "Invalid value: 9.223372036854776e+18:  in body should be less than or equal to 1")],
    ),
    "in a list": (
        {"type": "array", "items": {"type": "string"}, "default": [2**63]},
        [(".[0]", 'Invalid value: "number": [0] in body must be of type string: "number"')],
    ),
}


@pytest.mark.parametrize(("field", "causes"), BEYOND_INT64.values(), ids=BEYOND_INT64)
def test_a_default_beyond_int64_is_a_float(field, causes):
    """As apiserver decodes it: kube-apiserver 1.36.2."""
    test_a_default_must_be_valid(field, causes)


@pytest.mark.parametrize(("field", "causes"), DEFAULTS.values(), ids=DEFAULTS)
def test_a_default_must_be_valid(field, causes):
    found = said(crds.validate_create(with_field(**field)))
    at = f"{SCHEMA}.properties[spec].properties[f]"
    if causes is None:
        ((where, message),) = found
        assert where == f"{at}.properties[metadata].properties[labels].default"
        assert message.startswith('Invalid value: {"a":"b c"}: must result in valid metadata: ')
    else:
        assert found == [(f"{at}.default{where}", message) for where, message in causes]


@pytest.mark.parametrize("old", [[], ["one"], ["one", "two"]])
@pytest.mark.parametrize("new", [[], ["one"], ["two"], ["one", "two", "three"]])
def test_an_update_warns_of_new_formats_only(old, new):
    def definition(formats):
        members = {name: {"type": "string", "format": name} for name in formats}
        schema = {"type": "object", "properties": members}
        return {"spec": {"versions": [{"schema": {"openAPIV3Schema": schema}}]}}

    told = [f'unrecognized format "{name}"' for name in sorted(set(new) - set(old))]
    assert crds.warnings(definition(new), definition(old)) == told
