"""The Go structs of a CustomResourceDefinition, as tables.

Field names, omitempty and types follow apiextensions/v1 types.go and types_jsonschema.go,
and apimachinery's metav1.ObjectMeta.
"""

from typing import Any

from inkube.schemas.crds import godecode
from inkube.schemas.crds.godecode import Decoder, Field

_STRING = Field(godecode.string(), leaf=str)
_STRING_POINTER = Field(godecode.pointer(godecode.string()), pointer=True, leaf=str)
_BOOL = Field(godecode.boolean, leaf=bool)
_BOOL_POINTER = Field(godecode.pointer(godecode.boolean), pointer=True, leaf=bool)
_INT64_POINTER = Field(godecode.pointer(godecode.integer(64)), pointer=True)
_NUMBER_POINTER = Field(godecode.pointer(godecode.number), pointer=True)
_STRINGS = Field(godecode.slice_of(godecode.string(), "string"))
_STRING_MAP = Field(godecode.map_of(godecode.string(), "string"))
_JSON_POINTER = Field(godecode.any_json, pointer=True)


def _always(decode: Decoder) -> Field:
    return Field(decode, always=True)


_TEXT = _always(godecode.string())
_FLAG = _always(godecode.boolean)


# ------------------------------------------------------------------- JSON schemas


def _schema(value: Any, path: str, unknown: list[str]) -> Any:
    return _decode_schema(value, path, unknown)


def _apart(value: Any) -> Any:
    """A schema decoded by a type's own UnmarshalJSON, which names no unknown fields."""
    try:
        return _decode_schema(value, "", [])
    except godecode.Mismatch as mismatch:
        mismatch.struct, mismatch.path = "", []
        raise


def _schema_or_bool(value: Any, _path: str, _unknown: list[str]) -> Any:
    if value is None or isinstance(value, bool):
        return value
    if not isinstance(value, dict):
        raise godecode.Malformed("boolean or JSON schema expected")
    return _apart(value)


def _schema_or_array(value: Any, _path: str, _unknown: list[str]) -> Any:
    if isinstance(value, dict):
        return _apart(value)
    return [_apart(item) for item in value] if isinstance(value, list) else None


def _schema_or_strings(value: Any, _path: str, unknown: list[str]) -> Any:
    if isinstance(value, dict):
        return _apart(value)
    return _STRINGS.decode(value, "", unknown) if isinstance(value, list) else None


_RULE = godecode.struct(
    "ValidationRule",
    {
        "rule": _TEXT,
        "message": _STRING,
        "messageExpression": _STRING,
        "reason": Field(
            godecode.pointer(godecode.string("v1.FieldValueErrorReason")), pointer=True
        ),
        "fieldPath": _STRING,
        "optionalOldSelf": _BOOL_POINTER,
    },
)
_SCHEMAS = Field(godecode.slice_of(_schema, "v1.JSONSchemaProps"))
_SCHEMA_MAP = Field(godecode.map_of(_schema, "v1.JSONSchemaProps"))
_decode_schema = godecode.struct(
    "JSONSchemaProps",
    {
        "id": _STRING,
        "$schema": Field(godecode.string("v1.JSONSchemaURL")),
        "$ref": _STRING_POINTER,
        "description": _STRING,
        "type": _STRING,
        "format": _STRING,
        "title": _STRING,
        "default": _JSON_POINTER,
        "maximum": _NUMBER_POINTER,
        "exclusiveMaximum": _BOOL,
        "minimum": _NUMBER_POINTER,
        "exclusiveMinimum": _BOOL,
        "maxLength": _INT64_POINTER,
        "minLength": _INT64_POINTER,
        "pattern": _STRING,
        "maxItems": _INT64_POINTER,
        "minItems": _INT64_POINTER,
        "uniqueItems": _BOOL,
        "multipleOf": _NUMBER_POINTER,
        "enum": Field(godecode.slice_of(godecode.any_json, "v1.JSON")),
        "maxProperties": _INT64_POINTER,
        "minProperties": _INT64_POINTER,
        "required": _STRINGS,
        "items": Field(_schema_or_array, pointer=True),
        "allOf": _SCHEMAS,
        "oneOf": _SCHEMAS,
        "anyOf": _SCHEMAS,
        "not": Field(godecode.pointer(_schema), pointer=True),
        "properties": _SCHEMA_MAP,
        "additionalProperties": Field(_schema_or_bool, pointer=True),
        "patternProperties": _SCHEMA_MAP,
        "dependencies": Field(
            godecode.map_of(_schema_or_strings, "v1.JSONSchemaPropsOrStringArray")
        ),
        "additionalItems": Field(_schema_or_bool, pointer=True),
        "definitions": _SCHEMA_MAP,
        "externalDocs": Field(
            godecode.pointer(
                godecode.struct("ExternalDocumentation", {"description": _STRING, "url": _STRING})
            ),
            pointer=True,
        ),
        "example": _JSON_POINTER,
        "nullable": _BOOL,
        "x-kubernetes-preserve-unknown-fields": _BOOL_POINTER,
        "x-kubernetes-embedded-resource": _BOOL,
        "x-kubernetes-int-or-string": _BOOL,
        "x-kubernetes-list-map-keys": _STRINGS,
        "x-kubernetes-list-type": _STRING_POINTER,
        "x-kubernetes-map-type": _STRING_POINTER,
        "x-kubernetes-validations": Field(godecode.slice_of(_RULE, "v1.ValidationRule")),
    },
)


# ------------------------------------------------------------------- spec and status


def _pointer(name: str, fields: dict[str, Field]) -> Field:
    return Field(godecode.pointer(godecode.struct(name, fields)), pointer=True)


def _list(name: str, fields: dict[str, Field]) -> Field:
    return Field(godecode.slice_of(godecode.struct(name, fields), f"v1.{name}"))


_NAMES = godecode.struct(
    "CustomResourceDefinitionNames",
    {
        "plural": _TEXT,
        "singular": _STRING,
        "shortNames": _STRINGS,
        "kind": _TEXT,
        "listKind": _STRING,
        "categories": _STRINGS,
    },
)
_SUBRESOURCES = _pointer(
    "CustomResourceSubresources",
    {
        "status": _pointer("CustomResourceSubresourceStatus", {}),
        "scale": _pointer(
            "CustomResourceSubresourceScale",
            {
                "specReplicasPath": _TEXT,
                "statusReplicasPath": _TEXT,
                "labelSelectorPath": _STRING_POINTER,
            },
        ),
    },
)
_COLUMNS = _list(
    "CustomResourceColumnDefinition",
    {
        "name": _TEXT,
        "type": _TEXT,
        "format": _STRING,
        "description": _STRING,
        "priority": Field(godecode.integer(32)),
        "jsonPath": _TEXT,
    },
)
_VERSION = godecode.struct(
    "CustomResourceDefinitionVersion",
    {
        "name": _TEXT,
        "served": _FLAG,
        "storage": _FLAG,
        "deprecated": _BOOL,
        "deprecationWarning": _STRING_POINTER,
        "schema": _pointer(
            "CustomResourceValidation",
            {"openAPIV3Schema": Field(godecode.pointer(_schema), pointer=True)},
        ),
        "subresources": _SUBRESOURCES,
        "additionalPrinterColumns": _COLUMNS,
        "selectableFields": _list("SelectableField", {"jsonPath": _TEXT}),
    },
)
_CLIENT_CONFIG = _pointer(
    "WebhookClientConfig",
    {
        "url": _STRING_POINTER,
        "service": _pointer(
            "ServiceReference",
            {
                "namespace": _TEXT,
                "name": _TEXT,
                "path": _STRING_POINTER,
                "port": Field(godecode.pointer(godecode.integer(32)), pointer=True),
            },
        ),
        "caBundle": Field(godecode.base64_bytes),
    },
)
_CONVERSION = _pointer(
    "CustomResourceConversion",
    {
        "strategy": _always(godecode.string("v1.ConversionStrategyType")),
        "webhook": _pointer(
            "WebhookConversion",
            {
                "clientConfig": _CLIENT_CONFIG,
                "conversionReviewVersions": _always(_STRINGS.decode),
            },
        ),
    },
)
_SPEC = godecode.struct(
    "CustomResourceDefinitionSpec",
    {
        "group": _TEXT,
        "names": _always(_NAMES),
        "scope": _always(godecode.string("v1.ResourceScope")),
        "versions": _always(godecode.slice_of(_VERSION, "v1.CustomResourceDefinitionVersion")),
        "conversion": _CONVERSION,
        "preserveUnknownFields": _BOOL,
    },
)
_CONDITION = {
    "type": _always(godecode.string("v1.CustomResourceDefinitionConditionType")),
    "status": _always(godecode.string("v1.ConditionStatus")),
    "lastTransitionTime": Field(godecode.time),
    "reason": _STRING,
    "message": _STRING,
    "observedGeneration": Field(godecode.integer(64)),
}
_STATUS = godecode.struct(
    "CustomResourceDefinitionStatus",
    {
        "conditions": _always(_list("CustomResourceDefinitionCondition", _CONDITION).decode),
        "acceptedNames": _always(_NAMES),
        "storedVersions": _always(_STRINGS.decode),
        "observedGeneration": Field(godecode.integer(64)),
    },
)
_META = godecode.struct(
    "ObjectMeta",
    {
        "name": _STRING,
        "generateName": _STRING,
        "namespace": _STRING,
        "selfLink": _STRING,
        "uid": Field(godecode.string("types.UID")),
        "resourceVersion": _STRING,
        "generation": Field(godecode.integer(64)),
        "creationTimestamp": Field(godecode.time),
        "deletionTimestamp": Field(godecode.time),
        "deletionGracePeriodSeconds": _INT64_POINTER,
        "labels": _STRING_MAP,
        "annotations": _STRING_MAP,
        "ownerReferences": _list(
            "OwnerReference",
            {
                "apiVersion": _TEXT,
                "kind": _TEXT,
                "name": _TEXT,
                "uid": _always(godecode.string("types.UID")),
                "controller": _BOOL_POINTER,
                "blockOwnerDeletion": _BOOL_POINTER,
            },
        ),
        "finalizers": _STRINGS,
        "managedFields": _list(
            "ManagedFieldsEntry",
            {
                "manager": _STRING,
                "operation": Field(godecode.string("v1.ManagedFieldsOperationType")),
                "apiVersion": _STRING,
                "time": Field(godecode.time),
                "fieldsType": _STRING,
                "fieldsV1": _JSON_POINTER,
                "subresource": _STRING,
            },
        ),
    },
)
CRD = godecode.struct(
    "CustomResourceDefinition",
    {
        "kind": _STRING,
        "apiVersion": _STRING,
        "metadata": _always(_META),
        "spec": _always(_SPEC),
        "status": _always(_STATUS),
    },
)
