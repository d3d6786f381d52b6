"""Device classes, and slices in which drivers tell of their devices.

Follows pkg/apis/resource/validation/validation.go and pkg/apis/resource/v1/defaults.go.
"""

import re
from typing import Any, Final

from inkube.schemas import fielderrors, quantity
from inkube.schemas.builtin import resourcenames, rules
from inkube.schemas.builtin.behaviours import checks
from inkube.schemas.builtin.behaviours.base import BuiltinStrategy, same
from inkube.schemas.builtin.behaviours.devices import parts as deviceparts
from inkube.schemas.builtin.behaviours.devices import selectors as deviceselectors
from inkube.schemas.fielderrors import FieldError, Verbatim
from inkube.schemas.golang import gotext
from inkube.schemas.metadata import names
from inkube.schemas.objects import Object
from inkube.schemas.quantity import Quantity
from inkube.schemas.strategy import Context

_MAX_DEVICES: Final = 128
_MAX_ADVANCED: Final = 64
"""Devices of a slice, where some have taints or use counters."""
_MAX_COUNTER_SETS: Final = 8
_MAX_COUNTERS: Final = 32
_MAX_CONSUMED: Final = 2
_MAX_ENTRIES: Final = 32
_MAX_TAINTS: Final = 16
_MAX_OPTIONS: Final = 10
_MAX_VALUE: Final = 64
_LISTS: Final = ("bools", "ints", "strings", "versions")
_NUMBER: Final = r"(0|[1-9]\d*)"
_WORD: Final = r"(0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*)"
_BUILD: Final = "[0-9a-zA-Z-]+"
_SEMVER: Final = re.compile(
    rf"{_NUMBER}\.{_NUMBER}\.{_NUMBER}(-{_WORD}(\.{_WORD})*)?(\+{_BUILD}(\.{_BUILD})*)?", re.ASCII
)
_WHERE: Final = "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection`"
_EACH_WHERE: Final = (
    "exactly one of `nodeName`, `nodeSelector`, or `allNodes` is required when "
    "`perDeviceNodeSelection` is set to true in the ResourceSlice spec"
)


class Classes(BuiltinStrategy):
    """DeviceClass."""

    def check(self, obj: Object) -> list[FieldError]:
        return _class(obj.get("spec") or {}, {})

    def check_update(self, obj: Object, old: Object) -> list[FieldError]:
        return _class(obj.get("spec") or {}, old.get("spec") or {})


class Slices(BuiltinStrategy):
    """ResourceSlice."""

    def default(self, obj: Object) -> None:
        """Attributes that are lists come with a feature that is off by default."""
        for device in (obj.get("spec") or {}).get("devices") or ():
            for attribute in (device.get("attributes") or {}).values():
                for member in _LISTS:
                    attribute.pop(member, None)

    def prepare_for_create(self, context: Context, obj: Object) -> None:
        super().prepare_for_create(context, obj)
        _date_taints(obj, context.now)

    def prepare_object(self, context: Context, obj: Object, old: Object) -> None:
        super().prepare_object(context, obj, old)
        _date_taints(obj, context.now)

    def check(self, obj: Object) -> list[FieldError]:
        return _slice(obj.get("spec") or {}, {})

    def check_update(self, obj: Object, old: Object) -> list[FieldError]:
        spec, before = obj.get("spec") or {}, old.get("spec") or {}
        pools = [one.get("pool") or {} for one in (spec, before)]
        errors = _slice(spec, before)
        errors += checks.immutable(pools[0], pools[1], "spec.pool.", "name")
        return errors + checks.immutable(spec, before, "spec.", "driver", "nodeName")


def _date_taints(obj: Object, now: str) -> None:
    """A taint has been there since it was first told."""
    for device in (obj.get("spec") or {}).get("devices") or ():
        for taint in device.get("taints") or ():
            if taint.get("timeAdded") is None:
                taint["timeAdded"] = now


def _class(spec: Object, before: Object) -> list[FieldError]:
    """What did not change was judged when it was stored."""
    unchanged = {name: bool(before) and same(spec.get(name), before.get(name)) for name in spec}
    stored = unchanged.get("selectors", False)
    errors = deviceselectors.selectors(spec.get("selectors"), "spec.selectors", stored=stored)

    def configuration(given: Object, path: str) -> list[FieldError]:
        return deviceparts.configuration(given, path, stored=unchanged.get("config", False))

    most = deviceparts.MAX_CONFIGURATIONS
    errors += deviceparts.listed(spec.get("config") or (), "spec.config", configuration, most)
    extended = spec.get("extendedResourceName")
    if extended is not None and not resourcenames.is_extended(extended):
        why = "must be a valid extended resource name"
        errors.append(fielderrors.invalid("spec.extendedResourceName", extended, why))
    return errors


def _slice(spec: Object, before: Object) -> list[FieldError]:
    errors = deviceparts.driver(spec.get("driver", ""), "spec.driver")
    errors += _pool(spec.get("pool") or {})
    errors += _where(spec)
    devices, had = spec.get("devices") or [], before.get("devices") or []
    if spec.get("sharedCounters") and devices:
        why = "only one of `sharedCounters` or `devices` is allowed"
        errors.append(fielderrors.invalid("spec", "", why))
    is_advanced = any(one.get("taints") or one.get("consumesCounters") for one in devices)
    by_name = {one.get("name", ""): one for one in reversed(had)}

    def device(given: Object, path: str) -> list[FieldError]:
        errors = _device(given, by_name.get(given.get("name", "")), path)
        return errors + _device_where(given, path, apart=bool(spec.get("perDeviceNodeSelection")))

    most = _MAX_ADVANCED if is_advanced else _MAX_DEVICES
    errors += deviceparts.distinct(devices, "spec.devices", device, most, _name)
    counters, place = spec.get("sharedCounters"), "spec.sharedCounters"
    errors += deviceparts.distinct(counters, place, _counter_set, _MAX_COUNTER_SETS, _name)
    return errors


def _name(given: Object) -> str:
    found: str = given.get("name", "")
    return found


def _pool(pool: Object) -> list[FieldError]:
    errors = deviceparts.pool(pool.get("name", ""), "spec.pool.name")
    count, generation = pool.get("resourceSliceCount", 0), pool.get("generation", 0)
    if count <= 0:
        place = "spec.pool.resourceSliceCount"
        errors.append(fielderrors.invalid(place, count, "must be greater than zero"))
    if generation < 0:
        why = "must be greater than or equal to zero"
        errors.append(fielderrors.invalid("spec.pool.generation", generation, why))
    return errors


def _where(spec: Object) -> list[FieldError]:
    """Which nodes reach the devices: one way to say it."""
    found, errors = _places(spec, "spec", "must be either unset or set to a non-empty string")
    terms = (spec.get("nodeSelector") or {}).get("nodeSelectorTerms") or []
    if spec.get("nodeSelector") is not None and len(terms) != 1:
        place = "spec.nodeSelector.nodeSelectorTerms"
        why = "must have exactly one node selector term"
        errors.append(fielderrors.invalid(place, terms, why))
    apart = spec.get("perDeviceNodeSelection")
    if apart:
        found.append("`perDeviceNodeSelection`")
    elif apart is not None:
        why = "must be either unset or set to true"
        errors.append(fielderrors.invalid("spec.perDeviceNodeSelection", apart, why))
    if not found:
        errors.append(fielderrors.required("spec", f"{_WHERE} is required"))
    elif len(found) > 1:
        why = f"{_WHERE} is required, but multiple fields are set"
        errors.append(fielderrors.invalid("spec", f"{{{', '.join(found)}}}", why))
    return errors


def _places(given: Object, path: str, empty: str) -> tuple[list[str], list[FieldError]]:
    """Which members say where, and what is wrong with them."""
    found, errors = [], []
    node, selector, everywhere = (
        given.get(member) for member in ("nodeName", "nodeSelector", "allNodes")
    )
    if node:
        found.append("`nodeName`")
        errors += checks.named(node, f"{path}.nodeName", names.subdomain)
    elif node is not None:
        errors.append(fielderrors.invalid(f"{path}.nodeName", node, empty))
    if selector is not None:
        found.append("`nodeSelector`")
        errors += rules.errors("core.v1.NodeSelector", selector, f"{path}.nodeSelector")
    if everywhere:
        found.append("`allNodes`")
    elif everywhere is not None:
        why = "must be either unset or set to true"
        errors.append(fielderrors.invalid(f"{path}.allNodes", everywhere, why))
    return found, errors


def _device_where(device: Object, path: str, *, apart: bool) -> list[FieldError]:
    if not apart:
        members = ("nodeName", "nodeSelector", "allNodes")
        if all(device.get(member) is None for member in members):
            return []
        why = (
            "`nodeName`, `nodeSelector` and `allNodes` can only be set if "
            "`perDeviceNodeSelection` is set to true in the ResourceSlice spec"
        )
        return [fielderrors.invalid(path, None, why)]
    found, errors = _places(device, path, "must not be empty")
    if not found:
        errors.append(fielderrors.required(path, _EACH_WHERE))
    elif len(found) > 1:
        errors.append(fielderrors.invalid(path, f"{{{', '.join(found)}}}", _EACH_WHERE))
    return errors


def _device(device: Object, before: Object | None, path: str) -> list[FieldError]:
    errors = deviceparts.label(_name(device), f"{path}.name")
    attributes, capacity = device.get("attributes") or {}, device.get("capacity") or {}
    if len(attributes) + len(capacity) > _MAX_ENTRIES:
        why = f"the total number of attributes and capacities must not exceed {_MAX_ENTRIES}"
        errors.append(fielderrors.invalid(path, len(attributes) + len(capacity), why))
    qualified = deviceparts.qualified_name
    errors += deviceparts.mapped(attributes, f"{path}.attributes", qualified, _attribute)
    if before is None or not same(before.get("capacity"), capacity):
        check = _shared_capacity if device.get("allowMultipleAllocations") else _capacity
        errors += deviceparts.mapped(capacity, f"{path}.capacity", qualified, check)
    taints = device.get("taints") or ()
    if before is None or not same(before.get("taints"), taints):
        errors += deviceparts.listed(taints, f"{path}.taints", deviceparts.taint, _MAX_TAINTS)
    consumed, place = device.get("consumesCounters"), f"{path}.consumesCounters"
    errors += deviceparts.distinct(consumed, place, _consumption, _MAX_CONSUMED, _counter_set_name)
    return errors + deviceparts.bindings(device, path)


def _counter_set_name(given: Object) -> str:
    found: str = given.get("counterSet", "")
    return found


def _counter_set(given: Object, path: str) -> list[FieldError]:
    return _counters(given, path, "name")


def _consumption(given: Object, path: str) -> list[FieldError]:
    return _counters(given, path, "counterSet")


def _counters(given: Object, path: str, name: str) -> list[FieldError]:
    place, counters = f"{path}.counters", given.get("counters") or {}
    errors = [] if given.get(name) else [fielderrors.required(f"{path}.{name}")]
    if given.get(name):
        errors += deviceparts.label(given[name], f"{path}.{name}")
    if not counters:
        return [*errors, fielderrors.required(place)]
    if len(counters) > _MAX_COUNTERS:
        return [*errors, fielderrors.too_many(place, len(counters), _MAX_COUNTERS)]
    return errors + deviceparts.mapped(counters, place, deviceparts.label, _any)


def _any(value: Any, path: str) -> list[FieldError]:
    """Every quantity is a counter."""
    return []


_MEMBERS: Final = {
    "int": "IntValue", "bool": "BoolValue", "string": "StringValue", "version": "VersionValue",
}  # fmt: skip


def _attribute(given: Object, path: str) -> list[FieldError]:
    """One value of one type."""
    errors = []
    for member in ("string", "version"):
        value, place = given.get(member), f"{path}.{member}"
        if value is None:
            continue
        if member == "version" and not _SEMVER.fullmatch(value):
            why = "must be a string compatible with semver.org spec 2.0.0"
            errors.append(fielderrors.invalid(place, value, why))
        if len(value.encode()) > _MAX_VALUE:
            errors.append(fielderrors.too_long(place, _MAX_VALUE))
    found = [member for member in _MEMBERS if given.get(member) is not None]
    if len(found) != 1:
        shown = Verbatim(_shown(given)) if found else ""
        errors.append(fielderrors.invalid(path, shown, "exactly one value must be specified"))
    return errors


def _shown(given: Object) -> str:
    """The attribute as Go's JSON has it, its members in the struct's order."""
    values = [(name, given.get(member)) for member, name in _MEMBERS.items()]
    lists = [(f"{name}s", None) for name in _MEMBERS.values()]
    return "{" + ",".join(f'"{k}":{gotext.compact_json(v)}' for k, v in [*values, *lists]) + "}"


def _capacity(given: Object, path: str) -> list[FieldError]:
    if given.get("requestPolicy") is None:
        return []
    why = "allowMultipleAllocations must be true"
    return [fielderrors.forbidden(f"{path}.requestPolicy", why)]


def _shared_capacity(given: Object, path: str) -> list[FieldError]:
    """How much of it a claim may ask for (validateRequestPolicy)."""
    policy, place = given.get("requestPolicy"), f"{path}.requestPolicy"
    if policy is None:
        return []
    options, bounds = policy.get("validValues"), policy.get("validRange")
    if options and bounds is not None:
        why = (
            'exactly one policy can be specified, cannot specify "validValues" and "validRange" '
            "at the same time"
        )
        return [fielderrors.forbidden(place, why)]
    if not options and bounds is None:
        return []
    member = "validValues" if options else "validRange"
    usual = policy.get("default")
    if usual is None:
        why = f"required when {member} is defined"
        return [fielderrors.required(f"{place}.default", why)]
    whole = quantity.parse(given.get("value", "0"))
    if options:
        return _options(options, quantity.parse(usual), whole, f"{place}.validValues")
    return _range(bounds, quantity.parse(usual), whole, f"{place}.validRange")


def _options(options: list[str], usual: Quantity, whole: Quantity, path: str) -> list[FieldError]:
    """Values in order, none above the capacity, the usual one among them."""
    parsed = [quantity.parse(option) for option in options]
    why = "values must be sorted in ascending order"
    errors = [
        fielderrors.invalid(f"{path}[{index}]", str(value), why)
        for index, value in enumerate(parsed)
        if index and parsed[index - 1] > value
    ]

    def option(value: Quantity, place: str) -> list[FieldError]:
        if value <= whole:
            return []
        why = f"option is larger than capacity value: {whole}"
        return [fielderrors.invalid(place, str(value), why)]

    errors += deviceparts.distinct(parsed, path, option, _MAX_OPTIONS, _whole_text)
    if usual not in parsed:
        why = "default value is not valid according to the requestPolicy"
        errors.append(fielderrors.invalid(path, str(usual), why))
    return errors


def _whole_text(value: Quantity) -> str:
    return str(_whole(value))


def _whole(value: Quantity) -> int:
    """`Quantity.Value`: rounded up."""
    found = value.as_int64()
    if found is not None:
        return found
    return -int(-value.as_float() // 1)


def _range(bounds: Object, usual: Quantity, whole: Quantity, path: str) -> list[FieldError]:
    """From, to and in steps of."""
    given = {
        member: quantity.parse(bounds[member])
        for member in ("min", "max", "step")
        if bounds.get(member) is not None
    }
    if "min" not in given:
        return [fielderrors.required(f"{path}.min", "required when validRange is defined")]
    least, most, step = given["min"], given.get("max"), given.get("step")
    found = []
    if least > whole:
        found.append(("min", least, f"min is larger than capacity value: {whole}"))
    if usual < least:
        found.append(("default", usual, f"default is less than min: {least}"))
    if most is not None:
        if least > most:
            found.append(("max", least, f"min is larger than max: {most}"))
        if most > whole:
            found.append(("max", most, f"max is larger than capacity value: {whole}"))
        if usual > most:
            found.append(("default", usual, f"default is more than max: {most}"))
    if step is not None:
        found += _steps(least, most, step, usual, whole)
    return [fielderrors.invalid(f"{path}.{name}", str(value), why) for name, value, why in found]


def _steps(
    least: Quantity, most: Quantity | None, step: Quantity, usual: Quantity, whole: Quantity
) -> list[tuple[str, Quantity, str]]:
    if step.sign <= 0:
        return [("step", step, "must be greater than zero")]
    found = []
    first = least.add(step)
    if first > whole:
        why = f"one step {first} is larger than capacity value: {whole}"
        found.append(("step", step, why))
    width = _whole(step)
    for value in (usual, most):
        if value is not None and width and (_whole(value) - _whole(least)) % width:
            why = f"value is not a multiple of a given step ({step}) from ({least})"
            found.append(("step", value, why))
    return found
