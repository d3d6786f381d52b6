"""AdmissionReview: the request to an admission webhook, and the meaning of its response.

Follows plugin/webhook/request/admissionreview.go and plugin/webhook/errors.
"""

import base64
from dataclasses import dataclass
from typing import Any, Final

import orjson

from inkube.schemas import golang, status
from inkube.schemas.golang import DecodeError, cannot_unmarshal, gojson, gotext
from inkube.schemas.meta import GVK, GVR
from inkube.schemas.objects import Object
from inkube.schemas.webhooks import answers

GROUP: Final = "admission.k8s.io"
KIND: Final = "AdmissionReview"
_RESPONSE: Final = "AdmissionResponse.response"


class InvalidAnswerError(Exception):
    """A response that cannot be used. The text follows `failed calling webhook "x": `."""


class Rejection(status.StatusError):
    """A rejection by a webhook, with the status of its response."""

    def __init__(self, hook: str, result: Object | None) -> None:
        result = result or {}
        reason, code = result.get("reason") or "", result.get("code") or 0
        why = result.get("message") or reason
        denied = f"admission webhook {gotext.quote(hook)} denied the request"
        message = f"{denied}: {why}" if why else f"{denied} without explanation"
        super().__init__(max(code, 400), reason, message, details=result.get("details"))
        self.metadata = result.get("metadata") or {}
        state = result.get("status")
        self.status = state if state and state != "Success" else "Failure"
        seconds = (self.details or {}).get("retryAfterSeconds")
        if seconds:
            self.headers["Retry-After"] = str(seconds)

    def body(self) -> Object:
        """Return the Status, with the webhook's own value of `status`."""
        return {**super().body(), "status": self.status}


@dataclass(frozen=True, slots=True)
class RequestView:
    """A request as one webhook receives it. `kind` and `resource` can be those of another
    version."""

    kind: GVK
    resource: GVR
    object: Object | None
    old: Object | None


@dataclass(frozen=True, slots=True)
class Facts:
    """The facts that are equal for all webhooks of a request."""

    kind: GVK
    resource: GVR
    subresource: str
    name: str
    namespace: str
    operation: str
    user: Object
    dry_run: bool
    options: Object | None
    """The options of the request; None if its operation has none."""


def request(facts: Facts, view: RequestView, uid: str) -> Object:
    """Return an AdmissionRequest without object and oldObject. It is also the variable `request` of
    conditions."""
    found: Object = {"uid": uid, "kind": view.kind._asdict(), "resource": view.resource._asdict()}
    if facts.subresource:
        found["subResource"] = facts.subresource
    found["requestKind"] = facts.kind._asdict()
    found["requestResource"] = facts.resource._asdict()
    if facts.subresource:
        found["requestSubResource"] = facts.subresource
    if facts.name:
        found["name"] = facts.name
    if facts.namespace:
        found["namespace"] = facts.namespace
    found["operation"] = facts.operation
    found["userInfo"] = facts.user
    found["dryRun"] = facts.dry_run
    found["options"] = facts.options
    return found


def build(facts: Facts, view: RequestView, *, uid: str, version: str) -> bytes:
    """Return the AdmissionReview as JSON."""
    asked = request(facts, view, uid)
    dry_run, options = asked.pop("dryRun"), asked.pop("options")
    asked |= {"object": view.object, "oldObject": view.old, "dryRun": dry_run, "options": options}
    return orjson.dumps({"kind": KIND, "apiVersion": f"{GROUP}/{version}", "request": asked})


@dataclass(frozen=True, slots=True)
class ReviewResponse:
    """The response of a webhook."""

    allowed: bool
    result: Object | None
    patch: bytes
    patch_type: str
    warnings: tuple[str, ...]
    annotations: Object
    """Its annotations for the audit log."""


_MEMBERS: answers.Members = (
    ("uid", str, "types.UID"),
    ("allowed", bool, "bool"),
    ("patch", str, "[]uint8"),
    ("patchType", str, "v1.PatchType"),
    ("warnings", list, "[]string"),
    ("auditAnnotations", dict, "map[string]string"),
)


def read(document: Object, *, uid: str, version: str, is_mutating: bool) -> ReviewResponse:
    """Return the response in a decoded review. Raises InvalidAnswerError."""
    response = document.get("response")
    try:
        if response is not None:
            _check_types(response, version)
    except DecodeError as error:
        raise InvalidAnswerError(f"failed to call webhook: {error.text}") from error
    try:
        _verify(document, response, uid=uid, version=version)
        patch, patch_type = _patch(response or {}, version=version, is_mutating=is_mutating)
    except InvalidAnswerError as error:
        raise InvalidAnswerError(f"received invalid webhook response: {error}") from error
    response = response or {}
    warnings = tuple(response.get("warnings") or ())
    allowed = bool(response.get("allowed"))
    annotations = response.get("auditAnnotations") or {}
    return ReviewResponse(allowed, response.get("status"), patch, patch_type, warnings, annotations)


def _verify(document: Object, response: Object | None, *, uid: str, version: str) -> None:
    if response is None:
        raise InvalidAnswerError("webhook response was absent")
    if version != "v1":
        return
    why = answers.misdirected(response, uid) or answers.misnamed(document, (GROUP, version, KIND))
    if why:
        raise InvalidAnswerError(why)


def _patch(response: Object, *, version: str, is_mutating: bool) -> tuple[bytes, str]:
    patch = base64.b64decode(response.get("patch") or "")
    kind: str | None = response.get("patchType")
    if version != "v1":
        return (patch, "JSONPatch") if is_mutating else (b"", "")
    if not is_mutating:
        for member, found in (("patch", patch), ("patchType", kind is not None)):
            if found:
                raise InvalidAnswerError(f"validating webhook may not return response.{member}")
    if patch and kind is None:
        raise InvalidAnswerError("webhook returned response.patch but not response.patchType")
    if not patch and kind is not None:
        raise InvalidAnswerError("webhook returned response.patchType but not response.patch")
    if kind == "":
        raise InvalidAnswerError('webhook returned invalid response.patchType of ""')
    return patch, kind or ""


def _check_types(response: Any, version: str) -> None:
    """Raises DecodeError."""
    if not isinstance(response, dict):
        go_type = f"{version}.AdmissionResponse"
        raise cannot_unmarshal(response, go_type, "AdmissionReview.response")
    answers.check_members(response, _MEMBERS, _RESPONSE)
    golang.base64.canonical(response.get("patch") or "")
    for text in response.get("warnings") or ():
        answers.check_members({"warnings": text}, (("warnings", str, "string"),), _RESPONSE)
    result = response.get("status")
    if result is not None:
        answers.check_members(response, (("status", dict, "v1.Status"),), _RESPONSE)
        answers.check_members(result, answers.STATUS, "Status.response.status")


def operations(patch: bytes) -> list[Any]:
    """Return the operations of a JSON patch. Raises InvalidAnswerError."""
    prefix = "received undecodable patch in webhook response: "
    try:
        found = orjson.loads(patch)
    except orjson.JSONDecodeError as error:
        raise InvalidAnswerError(prefix + gojson.syntax_error(patch)) from error
    if found is not None and not isinstance(found, list):
        raise InvalidAnswerError(prefix + cannot_unmarshal(found, "jsonpatch.Patch").text)
    for operation in found or ():
        if operation is not None and not isinstance(operation, dict):
            why = cannot_unmarshal(operation, "jsonpatch.Operation").text
            raise InvalidAnswerError(prefix + why)
    return found or []
