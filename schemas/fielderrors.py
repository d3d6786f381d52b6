"""Field errors: one form for 422 causes and for `status.fieldErrors`.

Validators yield FieldError values; they are never raised. Types, texts and their order follow
apimachinery/pkg/util/validation/field/errors.go.
"""

from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import Any, NamedTuple

from inkube.schemas import golang
from inkube.schemas.golang import gotext


class Type(StrEnum):
    """field.ErrorType: the machine-readable kind, sent as a cause's `reason`."""

    NOT_FOUND = "FieldValueNotFound"
    REQUIRED = "FieldValueRequired"
    DUPLICATE = "FieldValueDuplicate"
    INVALID = "FieldValueInvalid"
    NOT_SUPPORTED = "FieldValueNotSupported"
    FORBIDDEN = "FieldValueForbidden"
    TOO_LONG = "FieldValueTooLong"
    TOO_MANY = "FieldValueTooMany"
    INTERNAL = "InternalError"
    TYPE_INVALID = "FieldValueTypeInvalid"


_TITLES = {
    Type.NOT_FOUND: "Not found",
    Type.REQUIRED: "Required value",
    Type.DUPLICATE: "Duplicate value",
    Type.INVALID: "Invalid value",
    Type.NOT_SUPPORTED: "Unsupported value",
    Type.FORBIDDEN: "Forbidden",
    Type.TOO_LONG: "Too long",
    Type.TOO_MANY: "Too many",
    Type.INTERNAL: "Internal error",
    Type.TYPE_INVALID: "Invalid value",
}
MOST = 10_000  # errors in one response; LONGEST: characters of their texts
LONGEST = 2**20
SUPPORTED = 100  # supported values that one error lists
OUTAGE, RATE_LIMITED, QUOTA_EXCEEDED = "Outage", "RateLimited", "QuotaExceeded"
"""Codes of errors: an outside system did not respond, or limits requests; a quota is exceeded."""
SECURE = "secure"
"""The member in which kinds declared in Python keep secret values."""
WITHOUT_VALUE = frozenset({Type.REQUIRED, Type.FORBIDDEN, Type.TOO_LONG, Type.INTERNAL})
"""Types of errors that do not show the value."""


class _Omitted:
    """Stands for a bad value that the error does not show (`field.OmitValueType`)."""

    def __repr__(self) -> str:
        return "OMITTED"


OMITTED: Any = _Omitted()


class Verbatim(NamedTuple):
    """A bad value that is printed unchanged: a Go type or struct, where upstream prints one."""

    text: str


class Sourced(Verbatim):
    """A bad value that minors before 1.34 print as Go source, which is in `go`."""

    go: str


def sourced(text: str, go: str) -> Sourced:
    """Return a value with the current text and `go`, the text before 1.34."""
    sourced = Sourced(text)
    sourced.go = go
    return sourced


class FieldError(NamedTuple):
    """One error of one field; `field` is a path (`spec.items[0].name`) or ""."""

    type: Type
    field: str
    value: Any = OMITTED
    detail: str = ""
    origin: str = ""
    supported: tuple[str, ...] = ()
    """Supported values, which forms can offer; responses contain the first SUPPORTED ones."""
    code: str = ""
    """The reason for other code, such as OUTAGE, because no code reads texts. Clients do not see
    it."""

    def message(self) -> str:
        """Return the text without the field: `Invalid value: 10: must be less`. Go's
        `ErrorBody`."""
        text = _TITLES[self.type]
        if self.type not in WITHOUT_VALUE and self.value is not OMITTED:
            text = f"{text}: {show(self.value)}"
        return f"{text}: {self.detail}" if self.detail else text

    def text(self) -> str:
        """Field and message, as in the message of a Status."""
        return f"{self.field}: {self.message()}" if self.field else self.message()

    def cause(self) -> dict[str, str]:
        """Return a `details.causes` item of a 422."""
        cause = {"reason": str(self.type), "message": self.message()}
        if self.field:
            cause["field"] = self.field
        return cause

    def item(self) -> dict[str, Any]:
        """Return a `status.fieldErrors` item without empty members, except the rejected value.

        Values below `secure` are never shown.
        """
        item: dict[str, Any] = {"type": str(self.type)}
        for name in ("field", "detail", "origin"):
            if text := getattr(self, name):
                item[name] = text
        if self._shows_value:
            item["badValue"] = self.value
        if self.supported:
            item["supportedValues"] = list(self.supported[:SUPPORTED])
        return item

    @property
    def _shows_value(self) -> bool:
        """Whether `item` shows the value; TYPE_INVALID errors show the Go type instead."""
        if self.value is OMITTED or self.value is None or isinstance(self.value, Verbatim):
            return False
        return not is_secret(self.field) and self.type is not Type.TYPE_INVALID


def is_secret(path: str) -> bool:
    """Return whether the path is that of a secret value of a declared kind, or of all of them."""
    return path == SECURE or path.startswith((f"{SECURE}.", f"{SECURE}["))


def show(value: Any) -> str:
    """Return a bad value as `ErrorBody` prints it: strings quoted, numbers bare, the rest as
    JSON."""
    if isinstance(value, Verbatim):
        return value.text
    if isinstance(value, str):
        return gotext.quote(value)
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return golang.gofloats.format_general(value)
    return gotext.compact_json(value)


def within_limits(errors: Iterable[FieldError]) -> tuple[list[dict[str, str]], list[str], int]:
    """Return causes, distinct texts in order (`ErrorList.ToAggregate`), and the number of omitted
    errors.

    Each error can contain a whole value from a client. For this reason, the number of errors is
    limited to MOST, and no error follows after LONGEST characters of texts.
    """
    causes: list[dict[str, str]] = []
    texts: dict[str, None] = {}
    size = left = 0
    for error in errors:
        if len(causes) >= MOST or size > LONGEST:
            left += 1
            continue
        cause = error.cause()
        causes.append(cause)
        text = cause["message"]
        size += len(text)
        texts[f"{error.field}: {text}" if error.field else text] = None
    return causes, list(texts), left


def joined(errors: Iterable[FieldError]) -> str:
    """Return the errors as a part of a Status message: `[a: Required value, b: …]`."""
    _, texts, left = within_limits(errors)
    if left:
        texts = [*texts, f"and at least {left} more errors"]
    return texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"


class Reworded(str):
    """A detail that has another text in minors before 1.34: `before`."""

    __slots__ = ("before",)
    before: str


def reworded(text: str, before: str) -> Reworded:
    """Return a detail with the current text and the text before 1.34."""
    reworded = Reworded(text)
    reworded.before = before
    return reworded


def required(field: str, detail: str = "", *, before: str = "") -> FieldError:
    """Return an error for a field without a required value. `before` is a detail that 1.34
    removed."""
    if before:
        detail = reworded(detail, before)
    return FieldError(Type.REQUIRED, field, detail=detail)


def invalid(field: str, value: Any, detail: str) -> FieldError:
    """Return an error for a value that breaks a rule."""
    return FieldError(Type.INVALID, field, value, detail)


def type_invalid(field: str, value: Any, detail: str) -> FieldError:
    """Return an error for a value whose JSON type is not the declared one."""
    return FieldError(Type.TYPE_INVALID, field, value, detail)


def not_supported(field: str, value: Any, choices: Sequence[str]) -> FieldError:
    """Return an error for a value that is not one of the choices, which are listed in the given
    order."""
    return FieldError(
        Type.NOT_SUPPORTED, field, value, supported(choices), supported=tuple(choices)
    )


def supported(choices: Sequence[str]) -> str:
    """Return the detail of an error that lists the choices; "" without choices."""
    if not choices:
        return ""
    return "supported values: " + ", ".join(gotext.quote(choice) for choice in choices)


def duplicate(field: str, value: Any, detail: str = "") -> FieldError:
    """Return an error for a value that is already present."""
    return FieldError(Type.DUPLICATE, field, value, detail)


def not_found(field: str, value: Any, detail: str = "") -> FieldError:
    """Return an error for a value that names an object that does not exist."""
    return FieldError(Type.NOT_FOUND, field, value, detail)


def forbidden(field: str, detail: str) -> FieldError:
    """Return an error for a field that must not be set, or must not have this value."""
    return FieldError(Type.FORBIDDEN, field, detail=detail)


def too_long(field: str, limit: int) -> FieldError:
    """Return an error for a text over its limit. As upstream, it mentions bytes, although it counts
    characters."""
    if limit < 0:
        return FieldError(Type.TOO_LONG, field, detail="value is too long")
    unit = "byte" if limit == 1 else "bytes"
    return FieldError(Type.TOO_LONG, field, detail=f"may not be more than {limit} {unit}")


def too_many(field: str, count: int, limit: int) -> FieldError:
    """Return an error for a list or map over its limit."""
    if limit < 0:
        return FieldError(Type.TOO_MANY, field, count, "has too many items")
    unit = "item" if limit == 1 else "items"
    return FieldError(Type.TOO_MANY, field, count, f"must have at most {limit} {unit}")


def internal(field: str, detail: str) -> FieldError:
    """Return an error for a check that failed itself."""
    return FieldError(Type.INTERNAL, field, detail=detail)
