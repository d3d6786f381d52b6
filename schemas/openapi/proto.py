"""OpenAPI v2 as the protocol buffer that kubectl requests: its definitions and operations.

Field numbers are those of google/gnostic's OpenAPIv2.proto. Bodies and responses of operations are
omitted, because clients do not use them.
"""

import re
from collections.abc import Iterable
from typing import Any

import orjson

from inkube.schemas.objects import Object

MEDIA_TYPES = (
    "application/com.github.proto-openapi.spec.v2@v1.0+protobuf",
    "application/com.github.proto-openapi.spec.v2.v1.0+protobuf",
)
"""Media types that clients request. The last one is that of responses, because a media type must
not contain `@`."""
_STRINGS = {"$ref": 1, "format": 2, "title": 3, "description": 4, "pattern": 13}
_NUMBERS = {
    "maxLength": 11, "minLength": 12, "maxItems": 14, "minItems": 15, "maxProperties": 17,
    "minProperties": 18,
}  # fmt: skip
_METHODS = {"get": 2, "put": 3, "post": 4, "delete": 5, "patch": 8}
_EXTENSIONS = 31
_PLAIN = re.compile(r"[A-Za-z_][\w./-]*\Z", re.ASCII)
"""Texts that need no quotes, unless they are reserved words."""
_WORDS = frozenset({"true", "false", "null", "yes", "no", "on", "off", "y", "n"})


def encode(document: Object) -> bytes:
    """Return a merged document (see `openapi.merged`) as gnostic's Document."""
    info = _text(1, document["info"]["title"]) + _text(2, document["info"]["version"])
    paths = b"".join(
        _message(2, _text(1, path) + _message(2, _path_item(item)))
        for path, item in sorted(document["paths"].items())
    )
    return b"".join(
        [
            _text(1, document["swagger"]),
            _message(2, info),
            _message(8, paths),
            _message(9, _named(document["definitions"])),
        ]
    )


def _named(schemas: Object) -> bytes:
    """Return a list of NamedSchema, as in Definitions and Properties."""
    return b"".join(
        _message(1, _text(1, name) + _message(2, _schema(schema)))
        for name, schema in sorted(schemas.items())
    )


def _schema(node: Object) -> bytes:
    parts = [_text(number, node[key]) for key, number in _STRINGS.items() if key in node]
    parts += [_integer(number, node[key]) for key, number in _NUMBERS.items() if key in node]
    parts += [_text(19, name) for name in node.get("required", ())]
    parts += [_message(20, _any(value)) for value in node.get("enum", ())]
    additional = node.get("additionalProperties")
    if isinstance(additional, dict):
        parts.append(_message(21, _message(1, _schema(additional))))
    elif additional is not None:
        parts.append(_message(21, _integer(2, int(additional))))
    if "type" in node:
        parts.append(_message(22, _text(1, node["type"])))
    if isinstance(node.get("items"), dict):
        parts.append(_message(23, _message(1, _schema(node["items"]))))
    if node.get("properties"):
        parts.append(_message(25, _named(node["properties"])))
    parts.append(_extensions(_EXTENSIONS, node))
    return b"".join(parts)


def _path_item(item: Object) -> bytes:
    parts = [_message(number, _operation(item[m])) for m, number in _METHODS.items() if m in item]
    return b"".join(parts + [_message(9, each) for each in _parameters(item.get("parameters", ()))])


def _operation(operation: Object) -> bytes:
    parts = [_text(1, tag) for tag in operation["tags"]]
    parts += [_text(3, operation["description"]), _text(5, operation["operationId"])]
    parts += [_text(6, media) for media in operation["produces"]]
    parts += [_text(7, media) for media in operation["consumes"]]
    parts += [_message(8, each) for each in _parameters(operation["parameters"])]
    parts.append(_extensions(13, operation))
    return b"".join(parts)


def _parameters(parameters: Iterable[Object]) -> Iterable[bytes]:
    """Return the parameters in query (3) and path (4) as ParametersItem."""
    for each in parameters:
        if each["in"] == "query":
            fields = [_text(2, "query"), _text(3, each["description"]), _text(4, each["name"])]
            fields.append(_text(6, each["type"]))
            number = 3
        elif each["in"] == "path":
            fields = [_integer(1, 1), _text(2, "path"), _text(3, each["description"])]
            fields += [_text(4, each["name"]), _text(5, each["type"])]
            number = 4
        else:
            continue
        yield _message(1, _message(2, _message(number, b"".join(fields))))


def _extensions(number: int, node: Object) -> bytes:
    return b"".join(
        _message(number, _text(1, key) + _message(2, _any(value)))
        for key, value in sorted(node.items())
        if key.startswith("x-")
    )


def _any(value: Any) -> bytes:
    """Return gnostic's Any, which contains YAML. Clients compare it as text: `- fieldPath:
    spec.size`."""
    return _text(2, _yaml(value))


def _yaml(value: Any) -> str:
    """Return a scalar, or a list or mapping of scalars, one per line. Deeper values are JSON, which
    is YAML."""
    if isinstance(value, list) and value:
        items = [_yaml(item).rstrip("\n").replace("\n", "\n  ") for item in value]
        return "".join(f"- {item}\n" for item in items)
    if isinstance(value, dict) and value and not any(map(_is_deep, value.values())):
        return "".join(f"{_scalar(key)}: {_scalar(value[key])}\n" for key in sorted(value))
    return f"{_scalar(value)}\n"


def _is_deep(value: Any) -> bool:
    return isinstance(value, list | dict)


def _scalar(value: Any) -> str:
    if isinstance(value, str) and _PLAIN.match(value) and value.lower() not in _WORDS:
        return value
    return orjson.dumps(value).decode()


def _text(number: int, text: str) -> bytes:
    return _message(number, text.encode())


def _message(number: int, content: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(content)) + content


def _integer(number: int, value: int) -> bytes:
    return _varint(number << 3) + _varint(int(value))


def _varint(value: int) -> bytes:
    encoded = bytearray()
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)
