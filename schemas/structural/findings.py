"""What validators find: the sink for errors, and the errors as upstream words them.

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
    """Where steps put what they find."""

    __slots__ = ()

    def fork(self) -> "Sink":
        """An empty sink for a branch that may be discarded."""
        return Sink()


class Enough(Exception):  # it ends the search, and is no error
    """More was found than anybody is told."""


class BoundedSink(Sink):
    """One that ends the search once it has more than an answer tells (`fielderrors.told`).

    For the whole of a value: what a branch finds may be discarded, so a fork has no bound.
    """

    __slots__ = ()

    def append(self, error: FieldError) -> None:
        """Raises Enough."""
        if len(self) > fielderrors.MOST:
            raise Enough
        list.append(self, error)


Step = Callable[[Any, Path, Sink], None]
"""One check of a value; what is wrong goes to the sink."""


def field(path: Path) -> str:
    """The field of an error at this place."""
    return fieldpaths.text(path) or NO_FIELD


def body(path: Path, text: str) -> str:
    """`spec.size in body …`, as upstream's validators speak."""
    return f"{fieldpaths.text(path)} in body {text}"


def add_invalid(path: Path, value: Any, text: str, errors: Sink) -> None:
    """The value breaks a rule."""
    place = fieldpaths.text(path)
    errors.append(invalid(place or NO_FIELD, value, f"{place} in body {text}"))


def add_type_error(path: Path, wanted: str, shown: str, errors: Sink) -> None:
    """The value has another type; `shown` names its own."""
    place = fieldpaths.text(path)
    text = f"{place} in body must be of type {wanted}: {gotext.quote(shown)}"
    errors.append(type_invalid(place or NO_FIELD, shown, text))


def placeless(text: str) -> FieldError:
    """An error of upstream's that has no field and no value."""
    return invalid(NO_FIELD, "", text)
