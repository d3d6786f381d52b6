"""Status, the form of every refusal: the Reason enum, StatusError and its constructors.

    StatusError                     every error response with a Status body
      made by not_found, conflict, invalid, …     one constructor per reason

Only constructors in this module select code and reason. `apiserver.http.responses` turns a
StatusError into HTTP; no other module builds a Status. Texts follow
apimachinery/pkg/api/errors/errors.go.
"""

import json
from collections.abc import Iterable, Sequence
from enum import StrEnum

from inkube.schemas.fielderrors import FieldError, joined, within_limits
from inkube.schemas.golang import quote
from inkube.schemas.objects import Object


class Reason(StrEnum):
    """metav1.StatusReason."""

    UNKNOWN = ""
    UNAUTHORIZED = "Unauthorized"
    FORBIDDEN = "Forbidden"
    NOT_FOUND = "NotFound"
    ALREADY_EXISTS = "AlreadyExists"
    CONFLICT = "Conflict"
    GONE = "Gone"
    INVALID = "Invalid"
    TIMEOUT = "Timeout"
    TOO_MANY_REQUESTS = "TooManyRequests"
    BAD_REQUEST = "BadRequest"
    METHOD_NOT_ALLOWED = "MethodNotAllowed"
    NOT_ACCEPTABLE = "NotAcceptable"
    REQUEST_ENTITY_TOO_LARGE = "RequestEntityTooLarge"
    UNSUPPORTED_MEDIA_TYPE = "UnsupportedMediaType"
    INTERNAL_ERROR = "InternalError"
    EXPIRED = "Expired"
    SERVICE_UNAVAILABLE = "ServiceUnavailable"
    NOT_IMPLEMENTED = "NotImplemented"


_ESCAPED = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})


class StatusError(Exception):
    """An error response: the HTTP code, and reason, message and details of its Status.

    `details=None` leaves the member out."""

    def __init__(
        self, code: int, reason: str, message: str, *, details: Object | None = None
    ) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.message = message
        self.details = details
        self.headers: dict[str, str] = {}
        self.bare_message = ""
        """The cause without the fixed text around it, if the message has such a text."""
        self.metadata: Object = {}
        """ListMeta of the Status: the continue token of an expired list."""
        self.field_errors: Sequence[FieldError] = ()
        """The field errors behind the first causes, in the order of the causes."""
        self.plain = ""
        """The whole response, if it is plain text instead of a Status."""

    def __str__(self) -> str:
        """Return the message, which can change after the error was created."""
        return self.message

    def body(self) -> Object:
        """Return the Status object, members in the reference's order."""
        status: Object = {"kind": "Status", "apiVersion": "v1", "metadata": self.metadata}
        status["status"] = "Failure"
        status["message"] = self.message
        if self.reason:
            status["reason"] = str(self.reason)
        if self.details is not None:
            status["details"] = self.details
        status["code"] = self.code
        return status


def success(group: str, resource: str, name: str, uid: str) -> Object:
    """Return the Status that DELETE returns if the object was removed immediately."""
    details = _details(group, resource, name)
    details["uid"] = uid
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Success",
        "details": details,
    }


def qualified(group: str, resource: str) -> str:
    """`widgets.example.com`; `configmaps` in the core group."""
    return f"{resource}.{group}" if group else resource


def not_found(group: str, resource: str, name: str) -> StatusError:
    """404: no object has this name."""
    return StatusError(
        404,
        Reason.NOT_FOUND,
        f"{qualified(group, resource)} {quote(name)} not found",
        details=_details(group, resource, name),
    )


def resource_not_found(hint: str = "") -> StatusError:
    """404: the path does not exist in a group that the generic server serves.

    `hint` proposes another call to callers in Python.
    """
    message = "the server could not find the requested resource"
    return StatusError(404, Reason.NOT_FOUND, f"{message}: {hint}" if hint else message, details={})


def already_exists(
    group: str, resource: str, name: str, *, terminating: bool = False
) -> StatusError:
    """409: the name exists; `terminating` if its object is being deleted."""
    prefix = "object is being deleted: " if terminating else ""
    return StatusError(
        409,
        Reason.ALREADY_EXISTS,
        f"{prefix}{qualified(group, resource)} {quote(name)} already exists",
        details=_details(group, resource, name),
    )


def not_unique(taken: StatusError) -> StatusError:
    """409 of an object whose body has a generateName: the client can try again (`taken` is the
    plain error)."""
    text = taken.message
    error = StatusError(
        409,
        Reason.ALREADY_EXISTS,
        f"{text}, the server was not able to generate a unique name for the object",
        details={**(taken.details or {}), "retryAfterSeconds": 1},
    )
    error.headers["Retry-After"] = "1"
    return error


STALE = (
    "the object has been modified; please apply your changes to the latest version and try again"
)


def conflict(group: str, resource: str, name: str, reason_text: str = STALE) -> StatusError:
    """409: a precondition or the resourceVersion does not hold."""
    return StatusError(
        409,
        Reason.CONFLICT,
        f"Operation cannot be fulfilled on {qualified(group, resource)} {quote(name)}: "
        f"{reason_text}",
        details=_details(group, resource, name),
    )


def precondition_failed(
    place: tuple[str, str, str], key: str, member: str, expected: str, actual: str
) -> StatusError:
    """409 with the text of the store: the object at a key has another `member`, UID or
    ResourceVersion. `place` is the group, the resource and the name."""
    message = (
        f"StorageError: invalid object, Code: 4, Key: {key}, ResourceVersion: 0, "
        f"AdditionalErrorMsg: {precondition_text(member, expected, actual)}"
    )
    return conflict(*place, message)


def precondition_text(member: str, expected: str, actual: str) -> str:
    """Return the text for a `member`, UID or ResourceVersion, that differs from the object's."""
    return (
        f"Precondition failed: {member} in precondition: {expected}, "
        f"{member} in object meta: {actual}"
    )


def apply_conflict(causes: Sequence[Object], message: str) -> StatusError:
    """409: fields owned by other managers, one cause each (`FieldManagerConflict`)."""
    return StatusError(409, Reason.CONFLICT, message, details={"causes": list(causes)})


def invalid(group: str, kind: str, name: str, errors: Iterable[FieldError]) -> StatusError:
    """422: every error as a cause; the message names each distinct text once.

    With many errors, the message and the causes contain the first ones, and the message the number
    of the others (see `fielderrors.within_limits`).
    """
    said = f"{qualified(group, kind)} {quote(name)} is invalid"
    return _of_errors(422, Reason.INVALID, said, _details(group, kind, name), errors)


def malformed(
    group: str, version: str, kind: str, name: str, errors: Iterable[FieldError]
) -> StatusError:
    """400: the body does not fit its kind; every error is a cause. The text is that of servers with
    Go types."""
    said = f"{kind} in version {quote(version)} cannot be handled as a {kind}"
    return _of_errors(400, Reason.BAD_REQUEST, said, _details(group, kind, name), errors)


def _of_errors(
    code: int, reason: Reason, said: str, details: Object, errors: Iterable[FieldError]
) -> StatusError:
    """Return an error with `said` and the field errors as its message, and the field errors as
    causes."""
    errors = list(errors)
    causes, texts, left = within_limits(errors)
    details["causes"] = causes
    if left:
        texts = [*texts, f"and at least {left} more errors"]
    joined = texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
    error = StatusError(code, reason, f"{said}: {joined}", details=details)
    error.field_errors = errors[: len(causes)]
    return error


def add(refusal: StatusError, added: Sequence[FieldError]) -> None:
    """Add field errors to the message and causes of an error (see `fielderrors.within_limits`)."""
    before, errors = joined(refusal.field_errors), [*refusal.field_errors, *added]
    if added and refusal.details is not None and refusal.message.endswith(before):
        causes, _, _ = within_limits(errors)
        refusal.message = refusal.message.removesuffix(before) + joined(errors)
        refusal.details["causes"] = causes
        refusal.field_errors = errors[: len(causes)]


def forbidden(group: str, resource: str, name: str, reason_text: str) -> StatusError:
    """403: authorization, admission or a rule of the kind refuses; `resource` "" means a path."""
    subject = f"{qualified(group, resource)} " if resource else ""
    if name and resource:
        subject += f"{quote(name)} is "
    elif resource:
        subject += "is "
    text = f"{subject}forbidden: {reason_text}"
    return StatusError(403, Reason.FORBIDDEN, text, details=_details(group, resource, name))


def unauthorized(advice: str = "") -> StatusError:
    """401: the credentials are missing or unknown. The message contains the advice."""
    message = f"Unauthorized: {advice}" if advice else "Unauthorized"
    return StatusError(401, Reason.UNAUTHORIZED, message)


def bad_request(message: str) -> StatusError:
    """400: the request cannot be understood."""
    return StatusError(400, Reason.BAD_REQUEST, message)


def method_not_allowed() -> StatusError:
    """405: the path exists, the verb does not."""
    message = "the server does not allow this method on the requested resource"
    return StatusError(405, Reason.METHOD_NOT_ALLOWED, message, details={})


def read_only(message: str) -> StatusError:
    """405: the server refuses all writes."""
    return StatusError(405, Reason.METHOD_NOT_ALLOWED, message, details={})


def method_not_allowed_on(group: str, resource: str, verb: str) -> StatusError:
    """405 with the text for custom resources."""
    details: Object = {"group": group, "kind": resource}
    name = quote(qualified(group, resource))
    message = f"{verb} is not supported on resources of kind {name}"
    return StatusError(405, Reason.METHOD_NOT_ALLOWED, message, details=details)


def not_acceptable(message: str) -> StatusError:
    """406: no media type the client accepts can be served."""
    return StatusError(406, Reason.NOT_ACCEPTABLE, message)


def unsupported_media_type(message: str) -> StatusError:
    """415: the body's media type cannot be read."""
    return StatusError(415, Reason.UNSUPPORTED_MEDIA_TYPE, message)


def too_large(message: str) -> StatusError:
    """413: the body, the operations or the fields exceed their limit."""
    return StatusError(413, Reason.REQUEST_ENTITY_TOO_LARGE, message)


def expired(message: str) -> StatusError:
    """410: the requested revision was compacted."""
    return StatusError(410, Reason.EXPIRED, message)


def internal(message: str) -> StatusError:
    """500 with reason InternalError, for errors where kube-apiserver returns this reason."""
    return StatusError(500, Reason.INTERNAL_ERROR, message)


def internal_error(message: str) -> StatusError:
    """500 with the text of apierrors.NewInternalError."""
    error = internal(f"Internal error occurred: {message}")
    error.details = {"causes": [{"message": message}]}
    return error


def internal_in_plain(address: str, message: str) -> StatusError:
    """500 in the plain text of responsewriters.InternalError; `address` as the client sent it."""
    error = internal(message)
    error.plain = f"Internal Server Error: {quote(address)}: {message}".translate(_ESCAPED) + "\n"
    error.headers["X-Content-Type-Options"] = "nosniff"
    return error


def too_many_requests(message: str, seconds: int = 0, causes: Sequence[Object] = ()) -> StatusError:
    """429: the client should retry later, after `seconds` unless that is 0."""
    details: Object = {"causes": list(causes)} if causes else {}
    if seconds:
        details["retryAfterSeconds"] = seconds
    error = StatusError(429, Reason.TOO_MANY_REQUESTS, message, details=details)
    if seconds:
        error.headers["Retry-After"] = str(seconds)
    return error


def request_timeout() -> StatusError:
    """504: the request took longer than its limit. As upstream's filter writes it, in plain text
    and without a kind (server/filters/timeout.go)."""
    message = "Timeout: request did not complete within the allotted timeout"
    error = StatusError(504, Reason.TIMEOUT, message, details={})
    members = error.body()
    del members["kind"], members["apiVersion"]
    error.plain = json.dumps(members, separators=(",", ":")) + "\n"
    return error


def unavailable(message: str) -> StatusError:
    """503: something that the request needs is not available now."""
    return StatusError(503, Reason.SERVICE_UNAVAILABLE, message)


def storage_failed(message: str) -> StatusError:
    """503: the store cannot be read or written now. The result of the write is unknown."""
    error = StatusError(503, Reason.SERVICE_UNAVAILABLE, f"the store failed: {message}")
    error.headers["Retry-After"] = "1"
    return error


def unknown(message: str, code: int = 500) -> StatusError:
    """Return an error that upstream returns as a plain Go error: 500, without reason and
    details."""
    return StatusError(code, Reason.UNKNOWN, message)


def _details(group: str, resource: str, name: str) -> Object:
    details: Object = {}
    if name:
        details["name"] = name
    if group:
        details["group"] = group
    if resource:
        details["kind"] = resource
    return details
