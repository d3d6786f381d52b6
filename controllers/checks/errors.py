"""The findings of checks and validators: constructors that require an actionable detail.

    yield Invalid("branch not found")
    yield Required("name the branch to sync", field="spec.git.branch")

The field defaults to the field of the check. A vague detail ("invalid value", "validation failed")
is rejected with ValueError, when the finding is created and already when the check is declared.
A check raises one of these errors if an outside system fails:

    OutsideError
      Unreachable     no connection: an error of its name, address, connection, certificate
      Unavailable     no usable response: 429, 5xx, too late
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import Any, ClassVar

import orjson

from inkube.schemas.fielderrors import (
    OMITTED,
    RATE_LIMITED,
    SUPPORTED,
    FieldError,
    Type,
    Verbatim,
    is_secret,
)
from inkube.schemas.sealing import REDACTED

_VAGUE = frozenset(
    {
        "an error occurred", "bad request", "bad value", "check failed", "error occurred",
        "failed validation", "field is invalid", "incorrect value", "internal error",
        "invalid field", "invalid input", "invalid value", "is invalid", "must be valid",
        "not valid", "something went wrong", "unexpected error", "unknown error",
        "validation error", "validation failed", "value is invalid", "value not valid",
    }
)  # fmt: skip
_FEWEST_WORDS = 2


def is_vague(detail: str) -> bool:
    """Return whether the detail explains neither the problem nor its solution."""
    words = re.findall(r"\w+", detail.lower())
    return len(words) < _FEWEST_WORDS or " ".join(words) in _VAGUE


@dataclass(frozen=True)
class Problem:
    """A finding. `field` "" means the field of the check, None means no field.

    Without a `value`, the error shows the object's value at the field. `supported` contains valid
    values, which forms can offer.
    """

    detail: str
    field: str | None = ""
    value: Any = OMITTED
    supported: Sequence[str] = ()
    code: str = ""
    """The reason for other code (`FieldError.code`)."""

    type: ClassVar[Type]

    def __post_init__(self) -> None:
        """Raise ValueError for a vague detail."""
        if is_vague(self.detail):
            raise ValueError(
                f"{type(self).__name__}({self.detail!r}): say what is wrong and what would be right"
            )

    def at(self, field: str, value: Any = OMITTED, origin: str = "") -> FieldError:
        """Return the finding as a field error. Its own field and value replace those of the
        arguments. Raises TypeError if a member cannot be JSON."""
        place = "" if self.field is None else self.field or field
        shown = value if self.value is OMITTED else _plain(self.value)
        if is_secret(place):
            shown = OMITTED if self.value is OMITTED else REDACTED
        right = tuple(islice(self.supported, SUPPORTED))
        texts = [place, self.detail, *right]
        if not all(isinstance(text, str) for text in texts):
            raise TypeError(f"field, detail and supported values are texts: {texts!r}")
        orjson.dumps(texts)  # a surrogate alone cannot be sent
        return FieldError(self.type, place, shown, self.detail, origin, right, self.code)


def _plain(value: Any) -> Any:
    """Return the value as JSON. Raises TypeError if it is not JSON: a date, a set, bytes."""
    if value is OMITTED or isinstance(value, Verbatim):
        return value
    return orjson.loads(orjson.dumps(value, option=_ONLY_JSON))


_ONLY_JSON = orjson.OPT_PASSTHROUGH_DATETIME | orjson.OPT_PASSTHROUGH_DATACLASS


class Invalid(Problem):
    """The value breaks a rule."""

    type = Type.INVALID


class NotFound(Problem):
    """The named thing does not exist."""

    type = Type.NOT_FOUND


class Required(Problem):
    """A value is missing."""

    type = Type.REQUIRED


class Forbidden(Problem):
    """The value must not be set, or the user lacks the permission for it."""

    type = Type.FORBIDDEN


class Duplicate(Problem):
    """Another object has this value."""

    type = Type.DUPLICATE


class NotSupported(Problem):
    """The value is not one of the choices, which the detail lists."""

    type = Type.NOT_SUPPORTED


class TooMany(Problem):
    """A list exceeds its limit. The value is the number of items."""

    type = Type.TOO_MANY


class InternalError(Problem):
    """The check could not finish. The detail names the failed service and the next attempt."""

    type = Type.INTERNAL


class OutsideError(Exception):
    """An outside system did not respond usably. `is_final`: an early retry cannot succeed.

    `cause` is RATE_LIMITED, TIMED_OUT, UNTRUSTED (its certificate), or "" for other causes.
    """

    RATE_LIMITED: ClassVar = RATE_LIMITED
    TIMED_OUT: ClassVar = "TimedOut"
    UNTRUSTED: ClassVar = "Untrusted"

    def __init__(
        self, service: str, reason: str, *, is_final: bool = False, cause: str = ""
    ) -> None:
        super().__init__(f"{service}: {reason}")
        self.service = service
        self.reason = reason
        self.is_final = is_final
        self.cause = cause


class Unreachable(OutsideError):
    """A connection failed. The error is reported as "unreachable: the reason"."""


class Unavailable(OutsideError):
    """The service runs but cannot respond. `until` is the time at which it expects to respond,
    `code` is its HTTP status (0: none)."""

    def __init__(
        self,
        service: str,
        reason: str,
        *,
        until: datetime | None = None,
        code: int = 0,
        cause: str = "",
    ) -> None:
        super().__init__(service, reason, is_final=until is not None, cause=cause)
        self.until = until
        self.code = code
