"""Checks that several families share: numbers, ports, label selectors, quantities, enums.

Follows pkg/apis/core/validation and apimachinery/pkg/apis/meta/v1/validation.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from inkube.schemas import fielderrors, quantity
from inkube.schemas.builtin.behaviours import naming
from inkube.schemas.fielderrors import FieldError
from inkube.schemas.metadata import names
from inkube.schemas.objects import Object

NOT_NEGATIVE = "must be greater than or equal to 0"
IMMUTABLE = "field is immutable"
IN_PORT_RANGE = "must be between 1 and 65535, inclusive"
_STATES = ("False", "True", "Unknown")
_MAX_REASON, _MAX_MESSAGE = 1024, 32 * 1024
_OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist")


def not_negative(obj: Object, path: str, *members: str) -> list[FieldError]:
    """Members that are there and below zero."""
    return [
        fielderrors.invalid(f"{path}.{member}", obj[member], NOT_NEGATIVE)
        for member in members
        if isinstance(obj.get(member), int) and obj[member] < 0
    ]


def immutable(obj: Object, old: Object, path: str, *members: str) -> list[FieldError]:
    """Members that changed though they may not."""
    return [
        fielderrors.invalid(f"{path}{member}", obj.get(member), IMMUTABLE)
        for member in members
        if (obj.get(member) or None) != (old.get(member) or None)
    ]


def one_of(value: Any, path: str, choices: Sequence[str]) -> list[FieldError]:
    """A value that is none of the choices; nothing is required."""
    if not value:
        return [fielderrors.required(path)]
    return [] if value in choices else [fielderrors.not_supported(path, value, choices)]


def named(value: str, path: str, check: Callable[[str], list[str]]) -> list[FieldError]:
    """Problems of a name, each as an Invalid."""
    return [fielderrors.invalid(path, value, why) for why in check(value)]


def port(value: Any, path: str) -> list[FieldError]:
    """A number outside of the ports."""
    if isinstance(value, int) and 1 <= value <= 65535:
        return []
    return [fielderrors.invalid(path, value, IN_PORT_RANGE)]


def port_or_name(value: int | str, path: str) -> list[FieldError]:
    """An IntOrString that stands for a port."""
    return named(value, path, naming.port_name) if isinstance(value, str) else port(value, path)


def count_or_percent(value: Any, path: str) -> list[FieldError]:
    """An IntOrString: not negative, or `25%`."""
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
    """`IsNotMoreThan100Percent`."""
    if isinstance(value, str) and value[:-1].isdecimal() and int(value[:-1]) > 100:
        return [fielderrors.invalid(path, value, "must not be greater than 100%")]
    return []


def label_selector(selector: Object | None, path: str) -> list[FieldError]:
    """A metav1.LabelSelector (ValidateLabelSelector)."""
    if not selector:
        return []
    errors = []
    for key, value in sorted((selector.get("matchLabels") or {}).items()):
        place = f"{path}.matchLabels"
        errors += [fielderrors.invalid(place, key, why) for why in names.label_key(key)]
        errors += [fielderrors.invalid(place, value, why) for why in names.label_value(value)]
    for index, expression in enumerate(selector.get("matchExpressions") or []):
        errors += _requirement(expression, f"{path}.matchExpressions[{index}]")
    return errors


def _requirement(expression: Object, path: str) -> list[FieldError]:
    errors = []
    operator, values = expression.get("operator", ""), expression.get("values") or []
    if operator in ("In", "NotIn") and not values:
        why = "must be specified when `operator` is 'In' or 'NotIn'"
        errors.append(fielderrors.required(f"{path}.values", why))
    elif operator in ("Exists", "DoesNotExist") and values:
        why = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
        errors.append(fielderrors.forbidden(f"{path}.values", why))
    elif operator not in _OPERATORS:
        why = "not a valid selector operator"
        errors.append(fielderrors.invalid(f"{path}.operator", operator, why))
    errors += named(expression.get("key", ""), f"{path}.key", names.label_key)
    for index, value in enumerate(values):
        errors += named(value, f"{path}.values[{index}]", names.label_value)
    return errors


def quantity_not_negative(text: str, path: str) -> list[FieldError]:
    """A quantity below zero."""
    if quantity.parse(text).sign < 0:
        return [fielderrors.invalid(path, text, NOT_NEGATIVE)]
    return []


def conditions(given: Sequence[Object], path: str) -> list[FieldError]:
    """A list of metav1.Condition (ValidateConditions)."""
    errors, seen = [], set()
    for index, condition in enumerate(given):
        place = f"{path}[{index}]"
        if condition.get("type") in seen:
            errors.append(fielderrors.duplicate(f"{place}.type", condition.get("type", "")))
        seen.add(condition.get("type"))
        errors += _condition(condition, place)
    return errors


def _condition(condition: Object, path: str) -> list[FieldError]:
    errors = named(condition.get("type", ""), f"{path}.type", names.label_key)
    state, reason = condition.get("status", ""), condition.get("reason", "")
    if state not in _STATES:
        errors.append(fielderrors.not_supported(f"{path}.status", state, _STATES))
    generation = condition.get("observedGeneration", 0)
    if generation < 0:
        why = "must be greater than or equal to zero"
        errors.append(fielderrors.invalid(f"{path}.observedGeneration", generation, why))
    if not condition.get("lastTransitionTime"):
        errors.append(fielderrors.required(f"{path}.lastTransitionTime"))
    if not reason:
        errors.append(fielderrors.required(f"{path}.reason"))
    else:
        errors += named(reason, f"{path}.reason", naming.condition_reason)
        if len(reason.encode()) > _MAX_REASON:
            errors.append(fielderrors.too_long(f"{path}.reason", _MAX_REASON))
    if len(condition.get("message", "").encode()) > _MAX_MESSAGE:
        errors.append(fielderrors.too_long(f"{path}.message", _MAX_MESSAGE))
    return errors


def duplicates(values: Iterable[Any], paths: Iterable[str]) -> list[FieldError]:
    """Each repeated value, at its own place; empty ones do not count."""
    errors, seen = [], set()
    for value, path in zip(values, paths, strict=True):
        if value and value in seen:
            errors.append(fielderrors.duplicate(path, value))
        seen.add(value)
    return errors


def descending(text: str, path: str) -> list[FieldError]:
    """A path that stays below where it starts (validateLocalDescendingPath)."""
    errors = []
    if text.startswith("/"):
        errors.append(fielderrors.invalid(path, text, "must be a relative path"))
    if ".." in text.split("/"):
        errors.append(fielderrors.invalid(path, text, "must not contain '..'"))
    return errors


def unreserved(text: str, path: str) -> list[FieldError]:
    """The same, and no name that begins with two dots (validateLocalNonReservedPath)."""
    errors = descending(text, path)
    if text.startswith("..") and not text.startswith("../"):
        errors.append(fielderrors.invalid(path, text, "must not start with '..'"))
    return errors


_IN_PATH = "[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+"
"""What a path of a URL may have (RFC 3986)."""


def domain_prefixed_path(text: str, path: str) -> list[FieldError]:
    """`example.com/path` (IsDomainPrefixedPath)."""
    if not text:
        return [fielderrors.required(path)]
    host, _, rest = text.partition("/")
    if not host or not rest:
        why = 'must be a domain-prefixed path (such as "acme.io/foo")'
        return [fielderrors.invalid(path, text, why)]
    errors = named(host, path, names.dns1123_subdomain)
    if not re.fullmatch(_IN_PATH, rest):
        why = names.regex_error("Invalid path", _IN_PATH)
        errors.append(fielderrors.invalid(path, rest, why))
    return errors
