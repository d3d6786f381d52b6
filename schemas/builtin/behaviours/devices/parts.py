"""What kinds about devices share: names of drivers, pools and attributes, configuration, taints.

Follows pkg/apis/resource/validation/validation.go.
"""

import re
import uuid
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

import orjson

from inkube.schemas import fielderrors
from inkube.schemas.builtin.behaviours import checks
from inkube.schemas.fielderrors import FieldError
from inkube.schemas.metadata import names
from inkube.schemas.objects import Object

Check = Callable[[Any, str], list[FieldError]]

MAX_CONFIGURATIONS: Final = 32
_MAX_PARAMETERS: Final = 10 * 1024  # bytes of JSON
_MAX_POOL: Final = 253
_MAX_DRIVER: Final = 63
_MAX_ID: Final = 32
_MAX_KEY: Final = _MAX_DRIVER + 1 + _MAX_ID
_MAX_BINDINGS: Final = 4
_EFFECTS: Final = ("NoExecute", "NoSchedule", "None")
_IDENTIFIER: Final = "[A-Za-z_][A-Za-z0-9_]*"
_HIDDEN: Final = "<value omitted>"


def listed(values: Iterable[Any], path: str, check: Check, most: int) -> list[FieldError]:
    """Every item, or one error where there are too many to look at (validateSlice)."""
    values = list(values)
    if len(values) > most >= 0:
        return [fielderrors.too_many(path, len(values), most)]
    errors = []
    for index, value in enumerate(values):
        errors += check(value, f"{path}[{index}]")
    return errors


def distinct(
    values: Sequence[Any] | None, path: str, check: Check, most: int, key: Callable[[Any], Any]
) -> list[FieldError]:
    """Every item, and that no key comes twice (validateSet)."""
    values = values or []
    errors = listed(values, path, check, most)
    if len(values) > most >= 0:
        return errors
    seen = set()
    for index, value in enumerate(values):
        found = key(value)
        if found in seen:
            errors.append(fielderrors.duplicate(f"{path}[{index}]", found))
        seen.add(found)
    return errors


def mapped(
    values: Object | None, path: str, check_key: Check, check: Check, *, longest: int = _MAX_KEY
) -> list[FieldError]:
    """Keys and values of a map; long keys are shortened in paths (validateMap)."""
    errors = []
    for key, value in sorted((values or {}).items()):
        errors += check_key(key, path)
        errors += check(value, f"{path}[{_shortened(key, longest)}]")
    return errors


def _shortened(key: str, longest: int) -> str:
    if len(key) <= longest:
        return key
    left = longest - len("...")
    return f"{key[: (left + 1) // 2]}...{key[len(key) - left // 2 :]}"


def itself(value: Any) -> Any:
    """The key of items that are their own."""
    return value


def label(value: str, path: str) -> list[FieldError]:
    """An RFC 1123 label."""
    return checks.named(value, path, names.dns1123_label)


def driver(value: str, path: str) -> list[FieldError]:
    """A driver's name, as CSI's (ValidateCSIDriverName)."""
    if not value:
        return [fielderrors.required(path)]
    errors = [fielderrors.too_long(path, _MAX_DRIVER)] if len(value) > _MAX_DRIVER else []
    wrong = names.dns1123_subdomain(value.lower())
    return errors + [fielderrors.invalid(path, value, why) for why in wrong]


def pool(value: str, path: str) -> list[FieldError]:
    """Subdomains with slashes between."""
    if not value:
        return [fielderrors.required(path)]
    errors = [fielderrors.too_long(path, _MAX_POOL)] if len(value) > _MAX_POOL else []
    for part in value.split("/"):
        errors += checks.named(part, path, names.dns1123_subdomain)
    return errors


def share(value: str, path: str) -> list[FieldError]:
    """A share's id: a UUID in its usual form."""
    try:
        uuid.UUID(value)
    except ValueError:
        length = len(value) not in (32, 36, 38, 45)
        what = f"invalid UUID length: {len(value)}" if length else "invalid UUID format"
        return [fielderrors.invalid(path, value, f"error validating uid: {what}")]
    if len(value) == 36 and value == value.lower():
        return []
    form = "`xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx`"
    why = f"uid must be in RFC 4122 normalized form, {form} with lowercase hexadecimal characters"
    return [fielderrors.invalid(path, value, why)]


def qualified_name(value: str, path: str) -> list[FieldError]:
    """An attribute or capacity: an identifier, with a domain or without."""
    domain, slash, name = value.partition("/")
    if not slash:
        return _identifier(value, path)
    if "/" in name:
        return []  # the reference looks at one slash only
    if domain:
        errors = driver(domain, path)
    else:
        errors = [fielderrors.invalid(path, "", "the domain must not be empty")]
    if name:
        return errors + _identifier(name, path)
    return [*errors, fielderrors.invalid(path, "", "the name must not be empty")]


def full_name(value: str, path: str) -> list[FieldError]:
    """The same, with a domain."""
    errors = qualified_name(value, path)
    if "/" not in value:
        why = "a fully qualified name must be a domain and a name separated by a slash"
        errors.append(fielderrors.invalid(path, value, why))
    return errors


def _identifier(value: str, path: str) -> list[FieldError]:
    errors = [fielderrors.too_long(path, _MAX_ID)] if len(value) > _MAX_ID else []
    if not re.fullmatch(_IDENTIFIER, value):
        what = (
            "a valid C identifier must start with alphabetic character or '_', followed by a "
            "string of alphanumeric characters or '_'"
        )
        examples = ("my_name", "MY_NAME", "MyName")
        why = names.regex_error(what, _IDENTIFIER, *examples)
        errors.append(fielderrors.invalid(path, value, why))
    return errors


def configuration(given: Object, path: str, *, stored: bool = False) -> list[FieldError]:
    """Parameters for a driver that nobody here understands; `stored` ones may be of any length."""
    opaque = given.get("opaque")
    if opaque is None:
        return [fielderrors.required(f"{path}.opaque")]
    errors = driver(opaque.get("driver", ""), f"{path}.opaque.driver")
    most = None if stored else _MAX_PARAMETERS
    return errors + raw_object(opaque.get("parameters"), f"{path}.opaque.parameters", most)


def raw_object(value: Any, path: str, most: int | None = _MAX_PARAMETERS) -> list[FieldError]:
    """Any JSON object of so many bytes (validateRawExtension)."""
    if value is None:
        return [fielderrors.required(path)]
    if most is not None and len(orjson.dumps(value)) > most:
        return [fielderrors.too_long(path, most)]
    if not isinstance(value, dict):
        return [fielderrors.invalid(path, _HIDDEN, "must be a valid JSON object")]
    return []


def taint(given: Object, path: str) -> list[FieldError]:
    """What keeps claims away from a device."""
    errors = _label_name(given.get("key", ""), f"{path}.key")
    if given.get("value"):
        errors += checks.named(given["value"], f"{path}.value", names.label_value)
    return errors + checks.one_of(given.get("effect"), f"{path}.effect", _EFFECTS)


def toleration(given: Object, path: str) -> list[FieldError]:
    """Which taints do not keep a claim away."""
    errors = _label_name(given["key"], f"{path}.key") if given.get("key") else []
    operator, value = given.get("operator", ""), given.get("value", "")
    errors += checks.one_of(operator, f"{path}.operator", ("Equal", "Exists"))
    if operator == "Equal":
        errors += checks.named(value, f"{path}.value", names.label_value)
    elif operator == "Exists" and value:
        why = "must be empty for operator `Exists`"
        errors.append(fielderrors.invalid(f"{path}.value", value, why))
    if given.get("effect"):
        errors += checks.one_of(given["effect"], f"{path}.effect", _EFFECTS)
    return errors


def _label_name(value: str, path: str) -> list[FieldError]:
    return checks.named(value, path, names.label_key)


def bindings(given: Object, path: str) -> list[FieldError]:
    """Conditions that a device waits for, and those that end the wait: both or none."""
    errors = []
    wanted = given.get("bindingConditions") or []
    failing = given.get("bindingFailureConditions") or []
    for member, values in (("bindingConditions", wanted), ("bindingFailureConditions", failing)):
        errors += distinct(values, f"{path}.{member}", _label_name, _MAX_BINDINGS, itself)
    for index, value in enumerate(failing):
        if value in wanted:
            place = f"{path}.bindingFailureConditions[{index}]"
            why = "bindingFailureConditions must not overlap with bindingConditions"
            errors.append(fielderrors.invalid(place, value, why))
    for has, lacks, name, other in (
        (failing, wanted, "bindingConditions", "bindingFailureConditions"),
        (wanted, failing, "bindingFailureConditions", "bindingConditions"),
    ):
        if has and not lacks:
            why = f"{name} are required to use {other}"
            errors.append(fielderrors.invalid(f"{path}.{name}", None, why))
    return errors
