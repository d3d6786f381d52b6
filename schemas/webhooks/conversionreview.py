"""ConversionReview: the request to a conversion webhook, and the checks of its response.

Follows apiextensions-apiserver/pkg/apiserver/conversion/webhook_converter.go.
"""

from collections.abc import Sequence
from typing import Any

import orjson

from inkube.schemas.fielderrors import FieldError
from inkube.schemas.golang import DecodeError, cannot_unmarshal
from inkube.schemas.metadata import objectmeta
from inkube.schemas.objects import Object
from inkube.schemas.webhooks import answers

GROUP, KIND = "apiextensions.k8s.io", "ConversionReview"
_SPOKEN = ("v1", "v1beta1")
_SAME = (("name", "name"), ("namespace", "namespace"), ("uid", "UID"))
_MEMBERS: answers.Members = (
    ("uid", str, "types.UID"),
    ("convertedObjects", list, "[]runtime.RawExtension"),
    ("result", dict, "v1.Status"),
)
_RESPONSE = "ConversionResponse.response"


class ConversionError(Exception):
    """A failed conversion. The text is the whole message."""


def review_version(accepted: Sequence[str]) -> str:
    """Return the first version of the review that inkube supports. Each CRD contains at least
    one."""
    return next(version for version in accepted if version in _SPOKEN)


def build(objects: Sequence[Object], api_version: str, *, uid: str, version: str) -> bytes:
    """Return the body of a review that requests objects in the apiVersion `api_version`."""
    review = {
        "kind": KIND,
        "apiVersion": f"{GROUP}/{version}",
        "request": {"uid": uid, "desiredAPIVersion": api_version, "objects": list(objects)},
        "response": {"uid": "", "convertedObjects": None, "result": {"metadata": {}}},
    }
    return orjson.dumps(review)


def read(
    document: Object, objects: Sequence[Object], api_version: str, *, uid: str, version: str
) -> list[Object]:
    """Return the converted objects, each with its old metadata. Raises ConversionError."""
    source = f"{objects[0]['apiVersion']}, Kind={objects[0]['kind']}"
    webhook = f"conversion webhook for {source}"
    why = _refusal(document, uid, version)
    if why:
        raise ConversionError(f"{webhook} failed: {why}")
    converted = document["response"].get("convertedObjects") or []
    if len(converted) != len(objects):
        raise ConversionError(
            f"{webhook} returned {len(converted)} objects, expected {len(objects)}"
        )
    for found in converted:
        _check_object(found)
    for index, (found, obj) in enumerate(zip(converted, objects, strict=True)):
        _check_type(found, obj, api_version, f"{webhook} returned invalid object at index {index}")
    return [_restored(found, obj, webhook) for found, obj in zip(converted, objects, strict=True)]


def _refusal(document: Object, uid: str, version: str) -> str:
    """Return why a review contains no conversion, or ""."""
    response = document.get("response")
    try:
        if response is not None:
            _check_types(response, version)
    except DecodeError as error:
        return error.text
    if version == "v1":
        why = answers.misnamed(document, (GROUP, version, KIND))
        if why:
            return why
    if response is None:
        return "no response provided"
    if version == "v1" and (why := answers.misdirected(response, uid)):
        return why
    result = response.get("result") or {}
    state = result.get("status") or ""
    if state == "Success":
        return ""
    return str(result.get("message") or f"response.result.status was '{state}', not 'Success'")


def _check_types(response: Any, version: str) -> None:
    """Raises DecodeError."""
    if not isinstance(response, dict):
        go_type = f"{version}.ConversionResponse"
        raise cannot_unmarshal(response, go_type, "ConversionReview.response")
    answers.check_members(response, _MEMBERS, _RESPONSE)
    answers.check_members(response.get("result") or {}, answers.STATUS, "Status.response.result")


def _check_object(obj: Any) -> None:
    """Check that a converted object has a kind. Follows UnstructuredJSONScheme, whose texts come
    without the name of the webhook."""
    if obj is None:
        raise ConversionError("unexpected end of JSON input")
    if not isinstance(obj, dict):
        raise ConversionError(cannot_unmarshal(obj, "map[string]interface {}").text)
    if not _string(obj, "kind") or _string(obj, "apiVersion").count("/") > 1:
        raise ConversionError(f"Object 'Kind' is missing in '{orjson.dumps(obj).decode()}'")


def _string(obj: Any, member: str) -> str:
    """Return a member of an object as accessors of Unstructured do: anything else is ""."""
    value = obj.get(member) if isinstance(obj, dict) else None
    return value if isinstance(value, str) else ""


def _check_type(converted: Object, obj: Object, api_version: str, where: str) -> None:
    version, kind = _string(converted, "apiVersion"), converted["kind"]
    if version != api_version:
        raise ConversionError(
            f"{where}: invalid groupVersion (expected {api_version}, received {version})"
        )
    if kind != obj["kind"]:
        raise ConversionError(f"{where}: invalid kind (expected {obj['kind']}, received {kind})")


def _restored(converted: Object, obj: Object, webhook: str) -> Object:
    """Return the converted object with its old metadata, apart from labels and annotations."""
    before, after = obj.get("metadata") or {}, converted.get("metadata") or {}
    for member, described in _SAME:
        was, now = _string(before, member), _string(after, member)
        if was != now:
            raise ConversionError(
                f"{webhook} returned invalid object: must have the same {described}: {was} != {now}"
            )
    metadata = {**before}
    for member in ("labels", "annotations"):
        metadata.pop(member, None)
        try:
            values = _strings(after.get(member), member)
        except ConversionError as error:
            raise ConversionError(f"{webhook} returned invalid metadata: {error}") from error
        if values:
            metadata[member] = values
    return {**converted, "metadata": metadata}


def _strings(values: Any, member: str) -> Object:
    """Return the labels or annotations of a response. Raises ConversionError for other values."""
    if values is None:
        return {}
    if not isinstance(values, dict):
        kind = _go_type(values)
        raise ConversionError(f"invalid metadata.{member} of type {kind} in converted object")
    for key, value in values.items():
        if not isinstance(value, str):
            raise ConversionError(
                f"metadata.{member}[{key}] must be a string, but is {_go_type(value)} "
                "in converted object"
            )
    errors: list[FieldError] = list(
        objectmeta.label_errors(values, "metadata.labels")
        if member == "labels"
        else objectmeta.annotation_errors(values, "metadata.annotation")
    )
    if errors:
        shown = [error.text() for error in errors]
        raise ConversionError(shown[0] if len(shown) == 1 else f"[{', '.join(shown)}]")
    return values


def _go_type(value: Any) -> str:
    names = {
        type(None): "<nil>",
        bool: "bool",
        int: "int64",
        float: "float64",
        str: "string",
        list: "[]interface {}",
        dict: "map[string]interface {}",
    }
    return names[type(value)]
