"""The findings of checks and validators: constructors that require an actionable detail.

    yield Invalid("branch not found")
    yield Required("name the branch to sync", field="spec.git.branch")

The field defaults to the field of the check. A vague detail ("invalid value", "validation failed")
is rejected with ValueError, when the finding is created and already when the check is declared.
Outside systems fail in two ways, which checks raise:

    OutsideError
      Unreachable     no conversation at all: name, address, connection, certificate
      Unavailable     it answered, but not to the question: 429, 5xx, too late
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import Any, ClassVar

from inkube.schemas.fielderrors import OMITTED, SUPPORTED, FieldError, Type

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
    """Whether the detail explains neither the problem nor its solution."""
    words = re.findall(r"\w+", detail.lower())
    return len(words) < _FEWEST_WORDS or " ".join(words) in _VAGUE


@dataclass(frozen=True)
class Problem:
    """One thing wrong. `field` "" means the field of the check, None means no field.

    Where no `value` is given, the object's value at the field is shown. `supported` are values
    that would be right, for forms to offer.
    """

    detail: str
    field: str | None = ""
    value: Any = OMITTED
    supported: Sequence[str] = ()

    type: ClassVar[Type]

    def __post_init__(self) -> None:
        """Refuse details that do not help."""
        if is_vague(self.detail):
            raise ValueError(
                f"{type(self).__name__}({self.detail!r}): say what is wrong and what would be right"
            )

    def at(self, field: str, value: Any = OMITTED, origin: str = "") -> FieldError:
        """As a field error; its own field and value come first."""
        shown = value if self.value is OMITTED else self.value
        place = "" if self.field is None else self.field or field
        right = tuple(islice(self.supported, SUPPORTED))
        return FieldError(self.type, place, shown, self.detail, origin, right)


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
    """The value may not be set, or what it asks for is not permitted."""

    type = Type.FORBIDDEN


class Duplicate(Problem):
    """Another object has this value."""

    type = Type.DUPLICATE


class NotSupported(Problem):
    """The value is not one of the choices, which the detail lists."""

    type = Type.NOT_SUPPORTED


class TooMany(Problem):
    """A list over its limit; the value is how many there are."""

    type = Type.TOO_MANY


class InternalError(Problem):
    """The check could not be finished; says which service failed and what happens next."""

    type = Type.INTERNAL


class OutsideError(Exception):
    """An outside system did not answer the question. `is_final`: asking again soon is pointless."""

    def __init__(self, service: str, reason: str, *, is_final: bool = False) -> None:
        super().__init__(f"{service}: {reason}")
        self.service = service
        self.reason = reason
        self.is_final = is_final


class Unreachable(OutsideError):
    """No conversation came about; reported as "unreachable: the reason"."""


class Unavailable(OutsideError):
    """The service is there and cannot serve; `until` is when it said it will, `code` its answer."""

    def __init__(
        self, service: str, reason: str, *, until: datetime | None = None, code: int = 0
    ) -> None:
        super().__init__(service, reason, is_final=until is not None)
        self.until = until
        self.code = code
