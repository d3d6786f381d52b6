"""Checks that several families share: ports, counts, names, immutable members.

Follows pkg/apis/core/validation and apimachinery/pkg/apis/meta/v1/validation.
"""

from collections.abc import Callable, Iterable
from typing import Any

from inkube.schemas import fielderrors
from inkube.schemas.builtin.strategies import naming
from inkube.schemas.fielderrors import FieldError
from inkube.schemas.objects import Object

NOT_NEGATIVE = "must be greater than or equal to 0"
IMMUTABLE = "field is immutable"
IN_PORT_RANGE = "must be between 1 and 65535, inclusive"


def immutable(obj: Object, old: Object, path: str, *members: str) -> list[FieldError]:
    """Errors for changes of immutable members."""
    return [
        fielderrors.invalid(f"{path}{member}", obj.get(member), IMMUTABLE)
        for member in members
        if (obj.get(member) or None) != (old.get(member) or None)
    ]


def named(value: str, path: str, check: Callable[[str], list[str]]) -> list[FieldError]:
    """The problems of a name, each as an Invalid error."""
    return [fielderrors.invalid(path, value, why) for why in check(value)]


def port(value: Any, path: str) -> list[FieldError]:
    """An error if the value is not a port number, 1 to 65535."""
    if isinstance(value, int) and 1 <= value <= 65535:
        return []
    return [fielderrors.invalid(path, value, IN_PORT_RANGE)]


def port_or_name(value: int | str, path: str) -> list[FieldError]:
    """The errors of an IntOrString that is a port number or the name of a port."""
    return named(value, path, naming.port_name) if isinstance(value, str) else port(value, path)


def count_or_percent(value: Any, path: str) -> list[FieldError]:
    """An error if an IntOrString is neither a non-negative number nor a percentage like `25%`."""
    if isinstance(value, str):
        if value[:-1].isdecimal() and value.endswith("%"):
            return []
        why = (
            "a valid percent string must be a numeric string followed by an ending '%' (e.g. "
            "'1%',  or '93%', regex used for validation is '[0-9]+%')"
        )
        return [fielderrors.invalid(path, value, why)]
    if isinstance(value, int) and value < 0:
        return [fielderrors.invalid(path, value, NOT_NEGATIVE)]
    return []


def at_most_all(value: Any, path: str) -> list[FieldError]:
    """`IsNotMoreThan100Percent`: an error for a percentage above 100."""
    if isinstance(value, str) and value[:-1].isdecimal() and int(value[:-1]) > 100:
        return [fielderrors.invalid(path, value, "must not be greater than 100%")]
    return []


def duplicates(values: Iterable[Any], paths: Iterable[str]) -> list[FieldError]:
    """An error for each repeated value, at its own path. Empty values do not count."""
    errors, seen = [], set()
    for value, path in zip(values, paths, strict=True):
        if value and value in seen:
            errors.append(fielderrors.duplicate(path, value))
        seen.add(value)
    return errors
