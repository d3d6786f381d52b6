"""Request bodies: bytes to values, and the errors of kube-apiserver for unreadable bodies.

`decode` reads any JSON or YAML, `decode_object` requires a whole object, and the other functions
make the texts of errors that callers find later.
Follows apimachinery/pkg/runtime/serializer/json/{json,meta}.go,
apiserver/pkg/endpoints/handlers/{rest,create}.go and sigs.k8s.io/json.
"""

import re
from collections.abc import Iterable, Sequence
from typing import Any, Literal, NamedTuple

import orjson

from inkube.schemas import golang, status
from inkube.schemas.golang import DecodeError, cannot_unmarshal, gojson, gotext
from inkube.schemas.objects import Object

Media = Literal["json", "yaml"]

_SUMMARY = 30
_MOST_DUPLICATES = 100
"""The largest number of duplicates that sigs.k8s.io/json reports."""
_YAML_PREFIX = "yaml: unmarshal errors:\n"
_TYPE_META = (
    'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; '
    'Kind string "json:\\"kind,omitempty\\"" }'
)


class Decoded(NamedTuple):
    """The value of a body. `duplicates` are texts about repeated keys, in the body's order."""

    value: Any
    duplicates: list[str]
    media: Media = "json"

    def strict_texts(self) -> list[str]:
        """Return the duplicates as a strict error lists them: one text for all of a YAML body."""
        if self.media == "yaml" and self.duplicates:
            return [yaml_error(self.duplicates)]
        return self.duplicates


def decode(
    body: bytes, media: Media, *, want_duplicates: bool, number_texts: bool = False
) -> Decoded:
    """Return the value of a body, integers beyond 64 bits as floats.

    With `number_texts`, unusual numbers of JSON keep their texts (`gojson.Number`).

    Raises DecodeError with the bare Go error: `unexpected end of JSON input`, `yaml: line 1: …`.
    """
    if media == "yaml":
        value = golang.goyaml.read_json(body)
        if value is not None and not duplicate_fields(body, value):
            return Decoded(value, [], "yaml")
        document = golang.goyaml.loads(body)
        return Decoded(document.value, document.duplicates if want_duplicates else [], "yaml")
    value = gojson.loads(body, texts=number_texts)
    return Decoded(value, duplicate_fields(body, value) if want_duplicates else [])


def decode_object(
    body: bytes,
    media: Media,
    *,
    kind: str,
    want_duplicates: bool,
    needs_kind: bool = True,
    typed_group: str | None = None,
) -> Decoded:
    """Return the object in a body. Raises StatusError 400 for anything else.

    `kind` is the kind of the path; bodies of built-in kinds can omit it (`needs_kind=False`).
    `typed_group` is the group of a kind with a Go type. Its bodies can also omit the version, or
    group and version; the apiVersion is then "".
    """
    try:
        decoded = decode(
            body, media, want_duplicates=want_duplicates, number_texts=typed_group is not None
        )
    except DecodeError as error:
        raise _unreadable(body, media, kind, error.text) from error
    problem = type_meta_problem(decoded.value)
    if problem:
        raise unrecognized(body, kind, f"couldn't get version/kind; json parse error: {problem}")
    value = decoded.value if decoded.value is not None else {}
    api_version = value.get("apiVersion") or ""
    if api_version.count("/") > 1:
        raise unrecognized(body, kind, f"unexpected GroupVersion string: {api_version}")
    if needs_kind and not value.get("kind"):
        text = body.decode("utf-8", "replace")
        raise unrecognized(body, kind, f"Object 'Kind' is missing in '{text}'")
    if typed_group is not None and api_version.endswith("/"):
        if api_version[:-1] not in ("", typed_group):
            why = f"Object 'apiVersion' is missing in '{body.decode('utf-8', 'replace')}'"
            raise cannot_handle("", value.get("kind") or kind, kind, why)
        value["apiVersion"] = ""
    return decoded if decoded.value is not None else Decoded({}, [], media)


def unrecognized(body: bytes, kind: str, text: str) -> status.StatusError:
    """400: the body has no readable kind. `kind` is the kind of the path."""
    error = status.bad_request(
        f"the object provided is unrecognized (must be of type {kind}): {text} ({_summary(body)})"
    )
    error.bare_message = text
    return error


def cannot_handle(api_version: str, sent_kind: str, kind: str, text: str) -> status.StatusError:
    """400: the body has a readable kind (`sent_kind`), but does not fit a `kind`."""
    version = api_version.rpartition("/")[2]
    return status.bad_request(
        f"{sent_kind} in version {gotext.quote(version)} cannot be handled as a {kind}: {text}"
    )


def unknown_fields(paths: Iterable[str]) -> list[str]:
    """Return the texts for the fields that a Go type does not have, for warnings and strict errors,
    as a decoder of JSON writes them (strictError of sigs.k8s.io/json)."""
    return [f"unknown field {gotext.quote(path)}" for path in paths]


def unquoted_unknown_fields(paths: Iterable[str]) -> list[str]:
    """`unknown_fields` for objects that are not decoded from a text: custom resources and the
    results of strategic patches. Their texts have no escapes (schemaCoercer.apply of
    apiextensions-apiserver, fromUnstructuredContext of apimachinery)."""
    return [f'unknown field "{path}"' for path in paths]


def named_path(text: str) -> str:
    """Return the path that one of `unknown_fields` or `duplicate_fields` names."""
    return gotext.unquote(text[text.index('"') :])


def strict_text(texts: Sequence[str]) -> str:
    """Return the error text of fieldValidation=Strict."""
    return f"strict decoding error: {', '.join(texts)}"


def yaml_error(duplicates: Iterable[str]) -> str:
    """Return repeated keys of a YAML body as one Go error."""
    return _YAML_PREFIX + "\n".join(f"  {text}" for text in duplicates)


def _unreadable(body: bytes, media: Media, kind: str, text: str) -> status.StatusError:
    if text.startswith("json: cannot unmarshal number"):
        match = _KIND.search(body)
        version = _VERSION.search(body)
        sent = match[1].decode("utf-8", "replace") if match else kind
        api_version = version[1].decode("utf-8", "replace") if version else ""
        return cannot_handle(api_version, sent, kind, text)
    if media == "json":
        text = f"couldn't get version/kind; json parse error: {text}"
    return unrecognized(body, kind, text)


_KIND = re.compile(rb'"kind"\s*:\s*"([^"\\]*)"')
_VERSION = re.compile(rb'"apiVersion"\s*:\s*"([^"\\]*)"')


def type_meta_problem(value: Any) -> str:
    """Return the Go error for an unreadable apiVersion or kind of a value; "" if both are
    readable."""
    if value is None:
        return ""
    if type(value) is not dict:
        return cannot_unmarshal(value, _TYPE_META).text
    for name in ("apiVersion", "kind"):
        item = value.get(name)
        if item is not None and type(item) is not str:
            return cannot_unmarshal(item, "string", f".{name}").text
    return ""


def check_type_meta(value: Any) -> None:
    """Check that apiVersion and kind of a value are readable. Raises DecodeError."""
    if problem := type_meta_problem(value):
        raise DecodeError(f"couldn't get version/kind; json parse error: {problem}")
    api_version = (value or {}).get("apiVersion") or ""
    if api_version.count("/") > 1:
        raise DecodeError(f"unexpected GroupVersion string: {api_version}")


def check_unstructured(obj: Object) -> None:
    """Check apiVersion and kind of a value as the JSON serializer reads it into an Unstructured.
    Raises DecodeError."""
    check_type_meta(obj)
    if not obj.get("kind"):
        raise DecodeError(f"Object 'Kind' is missing in '{golang.compact_json(obj)}'")


def _summary(body: bytes) -> str:
    if not body:
        return "<empty>"
    more = " ..." if len(body) > _SUMMARY else ""
    if body[:1] == b"{":
        return body[:_SUMMARY].decode("utf-8", "replace") + more
    return body[:_SUMMARY].hex() + more


# ------------------------------------------------------------------------- duplicate keys


def duplicate_fields(body: bytes, value: Any) -> list[str]:
    """`duplicate field "spec.a"` for every key that one object has twice, in order. Raises
    DecodeError if the body is nested too deeply."""
    if _surely_unique(body, value):
        return []
    duplicates: dict[str, None] = {}
    try:
        _collect(gojson.pairs(body), "", duplicates)
    except RecursionError as error:  # in a value that a later one replaces
        raise DecodeError(gojson.syntax_error(body, depth=gojson.MAX_DEPTH)) from error
    return [_duplicate_field(path) for path in list(duplicates)[:_MOST_DUPLICATES]]


def _duplicate_field(path: str) -> str:
    return f"duplicate field {gotext.quote(path)}"


def sorted_keys(value: Any) -> Any:
    """Return the value with sorted members in all objects, like YAML that was converted to JSON."""
    if isinstance(value, dict):
        return {key: sorted_keys(value[key]) for key in sorted(value)}
    return [sorted_keys(item) for item in value] if isinstance(value, list) else value


def in_document_order(body: bytes, duplicates: list[str], unknown: list[str]) -> list[str]:
    """Return the strict errors of both kinds of a JSON body, in the order of a decoder into a Go
    type.

    An unknown field is reported once, even if it is repeated, and its content is skipped.
    """
    if not duplicates or not unknown:
        return [*duplicates, *unknown]
    met: dict[str, None] = {}
    _meet(gojson.pairs(body), "", frozenset(unknown), met)
    return [*met, *(text for text in unknown if text not in met)]


def _meet(value: Any, path: str, unknown: frozenset[str], met: dict[str, None]) -> None:
    if isinstance(value, list) and not isinstance(value, gojson.Pairs):
        for index, item in enumerate(value):
            _meet(item, f"{path}[{index}]", unknown, met)
    if not isinstance(value, gojson.Pairs):
        return
    seen = set()
    for name, item in value:
        below = f"{path}.{name}" if path else name
        text = f"unknown field {gotext.quote(below)}"
        if text in unknown:
            met[text] = None
            continue
        if name in seen:
            met[_duplicate_field(below)] = None
        seen.add(name)
        _meet(item, below, unknown, met)


def _surely_unique(body: bytes, value: Any) -> bool:
    """Return whether the encoded value has as many keys as the body, so that no key was a
    duplicate.

    The number of colons stands for the number of keys. Colons inside strings count in both, unless
    the body escapes them; the function then returns False.
    """
    if b"\\" in body and b"\\u003" in body:
        return False
    try:
        return body.count(b":") == orjson.dumps(value).count(b":")
    except TypeError:
        return False


def _collect(value: Any, path: str, duplicates: dict[str, None]) -> None:
    if isinstance(value, gojson.Pairs):
        seen = set()
        for name, item in value:
            below = f"{path}.{name}" if path else name
            if name in seen:
                duplicates[below] = None
            seen.add(name)
            _collect(item, below, duplicates)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            _collect(item, f"{path}[{index}]", duplicates)
