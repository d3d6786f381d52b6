"""Findings of validators: the sink for errors, and errors with the texts of upstream.

Texts follow kube-openapi/pkg/validation/errors/schema.go, their translation into field errors
apiextensions-apiserver/pkg/apiserver/validation/validation.go.
"""

from collections.abc import Callable
from typing import Any

from inkube.schemas import fielderrors
from inkube.schemas.fielderrors import FieldError, invalid, type_invalid
from inkube.schemas.golang import gotext
from inkube.schemas.structural import fieldpaths
from inkube.schemas.structural.fieldpaths import NO_FIELD, Path


class Sink(list[FieldError]):
    """The list to which steps append errors."""

    __slots__ = ()

    def fork(self) -> "Sink":
        """Return an empty sink for a branch that may be discarded."""
        return Sink()


class Enough(Exception):  # ends the validation; it is not an error
    """The validation found more errors than a response contains."""


class BoundedSink(Sink):
    """A sink that ends the validation if it has more errors than a response
    (`fielderrors.within_limits`).

    It is for a whole value. Its forks have no bound, because the errors of a branch can be
    discarded.
    """

    __slots__ = ()

    def append(self, error: FieldError) -> None:
        """Append an error. Raises Enough beyond the bound."""
        if len(self) > fielderrors.MOST:
            raise Enough
        list.append(self, error)


Step = Callable[[Any, Path, Sink], None]
"""One check of a value, which appends errors to the sink."""


def field(path: Path) -> str:
    """Return the field of an error at this path."""
    return fieldpaths.text(path) or NO_FIELD


def body(path: Path, text: str) -> str:
    """`spec.size in body …`, the form of texts in upstream's validators."""
    return f"{fieldpaths.text(path)} in body {text}"


def add_invalid(path: Path, value: Any, text: str, errors: Sink, member: str | None = None) -> None:
    """Add the error for a value that breaks a rule; the text names the value or a member of it."""
    place = fieldpaths.text(path)
    named = place if member is None else f"{place}.{member}"
    errors.append(invalid(place or NO_FIELD, value, f"{named} in body {text}"))


def add_type_error(path: Path, expected: str, actual: str, errors: Sink) -> None:
    """Add the error for a value of another type; `actual` is the name of its type."""
    place = fieldpaths.text(path)
    text = f"{place} in body must be of type {expected}: {gotext.quote(actual)}"
    errors.append(type_invalid(place or NO_FIELD, actual, text))


def placeless(text: str) -> FieldError:
    """Return an error that has no field and no value in upstream."""
    return invalid(NO_FIELD, "", text)
