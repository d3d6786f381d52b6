"""Parts of a CRD as upstream prints them in errors: its internal Go structs as JSON.

Internal structs have no JSON tags, so members carry Go names in declared order, empty ones
included. Follows pkg/apis/apiextensions/types.go and types_jsonschema.go.
"""

import json
from collections.abc import Callable, Sequence
from typing import Any

from inkube.schemas.fielderrors import Verbatim
from inkube.schemas.golang import gotext
from inkube.schemas.objects import Object

Printer = Callable[[Any], str]
Member = tuple[str, str, Printer]
"""Go name, JSON name, function that prints the value; the value is None if it is missing."""


def schema(value: Object) -> Verbatim:
    """Return the text of a JSONSchemaProps."""
    return Verbatim(_schema(value))


def items(value: Any) -> Verbatim:
    """Return the text of a JSONSchemaPropsOrArray."""
    return Verbatim(_schema_or_list("JSONSchemas")(value))


def versions(value: Sequence[Object] | None) -> Verbatim:
    """Return the text of versions without the members that moved to the top of the spec
    (`internal`)."""
    return Verbatim(_list(_version)(value))


def string(value: str) -> str:
    """Return a Go string as JSON."""
    return gotext.compact_json(value)


def schema_fields(value: Object) -> list[str]:
    """Return the Go names of the schema's fields that have a value, in declared order."""
    return [go_name for go_name, name, _ in _SCHEMA if name in value]


def _struct(members: Sequence[Member], value: Object) -> str:
    printed = (f'"{name}":{printer(value.get(key))}' for name, key, printer in members)
    return "{" + ",".join(printed) + "}"


def _plain(zero: str) -> Printer:
    return lambda value: zero if value is None else gotext.compact_json(value)


def _list(printer: Printer) -> Printer:
    def print_list(value: Any) -> str:
        return "null" if value is None else f"[{','.join(map(printer, value))}]"

    return print_list


def _map(printer: Printer) -> Printer:
    def print_map(value: Any) -> str:
        if value is None:
            return "null"
        return "{" + ",".join(f"{string(k)}:{printer(value[k])}" for k in sorted(value)) + "}"

    return print_map


def _pointer(printer: Printer) -> Printer:
    return lambda value: "null" if value is None else printer(value)


def _of(members: Sequence[Member]) -> Printer:
    return lambda value: _struct(members, value or {})


_TEXT = _plain('""')
_FLAG = _plain("false")
_COUNT = _plain("0")
_ANY = _plain("null")


def _schema(value: Any) -> str:
    return _struct(_SCHEMA, value)


def _schema_or_bool(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return f'{{"Allows":{json.dumps(value)},"Schema":null}}'
    return f'{{"Allows":true,"Schema":{_schema(value)}}}'


def _schema_or_list(name: str) -> Printer:
    def print_either(value: Any) -> str:
        if value is None:
            return "null"
        if isinstance(value, dict):
            return f'{{"Schema":{_schema(value)},"{name}":null}}'
        each = _schema if name == "JSONSchemas" else string
        return f'{{"Schema":null,"{name}":{_list(each)(value)}}}'

    return print_either


_rule = _of(
    (
        ("Rule", "rule", _TEXT),
        ("Message", "message", _TEXT),
        ("MessageExpression", "messageExpression", _TEXT),
        ("Reason", "reason", _ANY),
        ("FieldPath", "fieldPath", _TEXT),
        ("OptionalOldSelf", "optionalOldSelf", _ANY),
    )
)
_SCHEMA: tuple[Member, ...] = (
    ("ID", "id", _TEXT),
    ("Schema", "$schema", _TEXT),
    ("Ref", "$ref", _ANY),
    ("Description", "description", _TEXT),
    ("Type", "type", _TEXT),
    ("Nullable", "nullable", _FLAG),
    ("Format", "format", _TEXT),
    ("Title", "title", _TEXT),
    ("Default", "default", _ANY),
    ("Maximum", "maximum", _ANY),
    ("ExclusiveMaximum", "exclusiveMaximum", _FLAG),
    ("Minimum", "minimum", _ANY),
    ("ExclusiveMinimum", "exclusiveMinimum", _FLAG),
    ("MaxLength", "maxLength", _ANY),
    ("MinLength", "minLength", _ANY),
    ("Pattern", "pattern", _TEXT),
    ("MaxItems", "maxItems", _ANY),
    ("MinItems", "minItems", _ANY),
    ("UniqueItems", "uniqueItems", _FLAG),
    ("MultipleOf", "multipleOf", _ANY),
    ("Enum", "enum", _ANY),
    ("MaxProperties", "maxProperties", _ANY),
    ("MinProperties", "minProperties", _ANY),
    ("Required", "required", _ANY),
    ("Items", "items", _schema_or_list("JSONSchemas")),
    ("AllOf", "allOf", _list(_schema)),
    ("OneOf", "oneOf", _list(_schema)),
    ("AnyOf", "anyOf", _list(_schema)),
    ("Not", "not", _pointer(_schema)),
    ("Properties", "properties", _map(_schema)),
    ("AdditionalProperties", "additionalProperties", _schema_or_bool),
    ("PatternProperties", "patternProperties", _map(_schema)),
    ("Dependencies", "dependencies", _map(_schema_or_list("Property"))),
    ("AdditionalItems", "additionalItems", _schema_or_bool),
    ("Definitions", "definitions", _map(_schema)),
    (
        "ExternalDocs",
        "externalDocs",
        _pointer(_of((("Description", "description", _TEXT), ("URL", "url", _TEXT)))),
    ),
    ("Example", "example", _ANY),
    ("XPreserveUnknownFields", "x-kubernetes-preserve-unknown-fields", _ANY),
    ("XEmbeddedResource", "x-kubernetes-embedded-resource", _FLAG),
    ("XIntOrString", "x-kubernetes-int-or-string", _FLAG),
    ("XListMapKeys", "x-kubernetes-list-map-keys", _ANY),
    ("XListType", "x-kubernetes-list-type", _ANY),
    ("XMapType", "x-kubernetes-map-type", _ANY),
    ("XValidations", "x-kubernetes-validations", _list(_rule)),
)
_SCALE: tuple[Member, ...] = (
    ("SpecReplicasPath", "specReplicasPath", _TEXT),
    ("StatusReplicasPath", "statusReplicasPath", _TEXT),
    ("LabelSelectorPath", "labelSelectorPath", _ANY),
)
_COLUMN: tuple[Member, ...] = (
    ("Name", "name", _TEXT),
    ("Type", "type", _TEXT),
    ("Format", "format", _TEXT),
    ("Description", "description", _TEXT),
    ("Priority", "priority", _COUNT),
    ("JSONPath", "jsonPath", _TEXT),
)
_version = _of(
    (
        ("Name", "name", _TEXT),
        ("Served", "served", _FLAG),
        ("Storage", "storage", _FLAG),
        ("Deprecated", "deprecated", _FLAG),
        ("DeprecationWarning", "deprecationWarning", _ANY),
        (
            "Schema",
            "schema",
            _pointer(_of((("OpenAPIV3Schema", "openAPIV3Schema", _pointer(_schema)),))),
        ),
        (
            "Subresources",
            "subresources",
            _pointer(_of((("Status", "status", _ANY), ("Scale", "scale", _pointer(_of(_SCALE)))))),
        ),
        ("AdditionalPrinterColumns", "additionalPrinterColumns", _list(_of(_COLUMN))),
        ("SelectableFields", "selectableFields", _list(_of((("JSONPath", "jsonPath", _TEXT),)))),
    )
)
