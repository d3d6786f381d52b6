"""Irregular rules of resource.k8s.io: attribute names, request references, capacity policies,
nodes.

Follows pkg/apis/resource/validation/validation.go.
"""

import re
import uuid
from typing import Any, Final

import orjson

from inkube.schemas import fielderrors, quantity
from inkube.schemas.builtin import metadata, resourcenames
from inkube.schemas.builtin.rules.calls import deviceselectors
from inkube.schemas.builtin.rules.frames import Frame
from inkube.schemas.fielderrors import FieldError, Verbatim
from inkube.schemas.golang import gotext, netip
from inkube.schemas.gotypes import internal
from inkube.schemas.metadata import names
from inkube.schemas.objects import Object
from inkube.schemas.quantity import Quantity

_MAX_PARAMETERS: Final = 10 * 1024  # bytes of JSON
_MAX_POOL: Final = 253
_MAX_DRIVER: Final = 63
_MAX_ID: Final = 32
_MAX_ENTRIES: Final = 32
_MAX_OPTIONS: Final = 10
_IDENTIFIER: Final = "[A-Za-z_][A-Za-z0-9_]*"
_HIDDEN: Final = "<value omitted>"
_NO_REQUEST: Final = (
    "must be the name of a request in the claim or the name of a request and a subrequest "
    "separated by '/'"
)
_ONE_VALUE: Final = "exactly one value must be specified"
_WHERE: Final = "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection`"
_EACH_WHERE: Final = (
    "exactly one of `nodeName`, `nodeSelector`, or `allNodes` is required when "
    "`perDeviceNodeSelection` is set to true in the ResourceSlice spec"
)

# names


def pool_name(value: str, path: str, _frame: Frame) -> list[FieldError]:
    """Check that a pool name consists of subdomains, separated by slashes (validatePoolName)."""
    too_long = len(value.encode()) > _MAX_POOL
    errors = [fielderrors.too_long(path, _MAX_POOL)] if too_long else []
    for part in value.split("/"):
        errors += _named(part, path, names.dns1123_subdomain(part))
    return errors


def share(value: str, path: str, _frame: Frame) -> list[FieldError]:
    """Check that the id of a share is a UUID in its canonical form (validateUID)."""
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


def qualified_name(value: str, path: str, _frame: Frame) -> list[FieldError]:
    """Check an identifier with an optional domain (validateQualifiedName). As upstream, a name with
    more than one slash is accepted."""
    domain, slash, name = value.partition("/")
    if not slash:
        return _identifier(value, path)
    if "/" in name:
        return []
    if domain:
        too_long = len(domain.encode()) > _MAX_DRIVER
        errors = [fielderrors.too_long(path, _MAX_DRIVER)] if too_long else []
        errors += _named(domain, path, names.dns1123_subdomain(domain.lower()))
    else:
        errors = [fielderrors.invalid(path, "", "the domain must not be empty")]
    if name:
        return errors + _identifier(name, path)
    return [*errors, fielderrors.invalid(path, "", "the name must not be empty")]


def full_name(value: str, path: str, frame: Frame) -> list[FieldError]:
    """Check an identifier with a required domain (validateFullyQualifiedName)."""
    errors = qualified_name(value, path, frame)
    if "/" not in value:
        why = "a fully qualified name must be a domain and a name separated by a slash"
        errors.append(fielderrors.invalid(path, value, why))
    return errors


def _identifier(value: str, path: str) -> list[FieldError]:
    """Check that a text is a C identifier (validateCIdentifier)."""
    too_long = len(value.encode()) > _MAX_ID
    errors = [fielderrors.too_long(path, _MAX_ID)] if too_long else []
    if not re.fullmatch(_IDENTIFIER, value):
        what = (
            "a valid C identifier must start with alphabetic character or '_', followed by a "
            "string of alphanumeric characters or '_'"
        )
        why = names.regex_error(what, _IDENTIFIER, "my_name", "MY_NAME", "MyName")
        errors.append(fielderrors.invalid(path, value, why))
    return errors


def _named(value: str, path: str, problems: list[str]) -> list[FieldError]:
    return [fielderrors.invalid(path, value, why) for why in problems]


def extended_resource(value: str, path: str, _frame: Frame) -> list[FieldError]:
    """Check that a text is the name of an extended resource (IsExtendedResourceName)."""
    if resourcenames.is_extended(value):
        return []
    return [fielderrors.invalid(path, value, "must be a valid extended resource name")]


# configuration and selectors


def small_object(value: Any, path: str, frame: Frame) -> list[FieldError]:
    """Check that a value is a JSON object of at most _MAX_PARAMETERS bytes
    (validateRawExtension)."""
    if value is not None and len(orjson.dumps(value)) > _MAX_PARAMETERS:
        return [fielderrors.too_long(path, _MAX_PARAMETERS)]
    return json_object(value, path, frame)


def json_object(value: Any, path: str, _frame: Frame) -> list[FieldError]:
    """Check that a value is a JSON object of any size."""
    if value is None:
        return [fielderrors.required(path)]
    if isinstance(value, dict):
        return []
    return [fielderrors.invalid(path, _HIDDEN, "must be a valid JSON object")]


def selector(value: str, path: str, _frame: Frame) -> list[FieldError]:
    """Check the CEL expression of a device selector (validateCELExpression)."""
    return deviceselectors.errors(value, path)


# claims


def template_metadata(value: Object, path: str, _frame: Frame) -> list[FieldError]:
    """Check the metadata of a template: only labels and annotations
    (ValidateTemplateObjectMeta)."""
    return metadata.template(value, path) + metadata.only_labels(value, path)


def request_reference(value: str, path: str, frame: Frame) -> list[FieldError]:
    """Check that `request` or `request/alternative` exists in the same claim
    (validateRequestNameRef)."""
    parts = value.split("/")
    if len(parts) > 2:
        return [fielderrors.invalid(path, value, _NO_REQUEST)]
    errors = [error for part in parts for error in _named(part, path, names.dns1123_label(part))]
    if value not in _requests(frame.root):
        errors.append(fielderrors.invalid(path, value, _NO_REQUEST))
    return errors


def _requests(root: Frame) -> frozenset[str]:
    """Return the valid references to requests of a claim or a claim template."""
    if "requests" not in root.facts:
        spec = root.obj.get("spec") or {}
        claim = (spec.get("spec") or spec).get("devices") or {}
        found = set()
        for request in claim.get("requests") or ():
            name = request.get("name", "")
            found.add(name)
            alternatives = request.get("firstAvailable") or ()
            found |= {f"{name}/{one.get('name', '')}" for one in alternatives}
        root.facts["requests"] = frozenset(found)
    known: frozenset[str] = root.facts["requests"]
    return known


# status of claims


def gains_users(frame: Frame) -> bool:
    """Return whether an allocated claim that is being deleted is reserved for additional
    consumers."""
    if not frame.root.obj["metadata"].get("deletionTimestamp"):
        return False
    had = (frame.old or {}).get("reservedFor") or []
    is_allocated = frame.obj.get("allocation") is not None
    return is_allocated and any(user not in had for user in frame.obj.get("reservedFor") or ())


def identity(device: Object) -> tuple[str, ...]:
    """Return the identity of a device: driver, pool, name and share."""
    return tuple(device.get(member) or "" for member in ("driver", "pool", "device", "shareID"))


def device_identity(device: Object) -> Verbatim:
    """Return `identity` as errors show it (SharedDeviceID)."""
    names = ("Driver", "Pool", "Device", "ShareID")
    return Verbatim(gotext.ordered_json(dict(zip(names, identity(device), strict=True))))


def allocated_devices(status: Object) -> set[tuple[str, ...]]:
    """Return the identities of all allocated devices of a claim's status."""
    devices = (status.get("allocation") or {}).get("devices") or {}
    return {identity(result) for result in devices.get("results") or ()}


def allocated(value: Object, path: str, frame: Frame) -> list[FieldError]:
    """Check that the device of a driver's report is allocated to the claim
    (validateDeviceStatus)."""
    if identity(value) in allocated_devices(frame.root.obj.get("status") or {}):
        return []
    why = "must be an allocated device in the claim"
    return [fielderrors.invalid(path, device_identity(value), why)]


def interface_address(value: str, path: str, _frame: Frame) -> list[FieldError]:
    """Check an interface address such as `192.168.1.5/24` (IsValidInterfaceAddress)."""
    address, _, bits = value.partition("/")
    try:
        netip.parse_prefix(value)
    except ValueError:
        why = "must be a valid address in CIDR form, (e.g. 10.9.8.7/24 or 2001:db8::1/64)"
        return [fielderrors.invalid(path, value, why)]
    canonical = f"{netip.parse_addr(address)}/{bits}"
    if canonical == value:
        return []
    return [fielderrors.invalid(path, value, f'must be in canonical form ("{canonical}")')]


# slices


def one_term(value: Object, path: str, _frame: Frame) -> list[FieldError]:
    """Check that a slice's node selector has exactly one term, so that selectors can be merged."""
    terms = value.get("nodeSelectorTerms")
    if terms is not None and len(terms) == 1:
        return []
    shown = internal.items("core.NodeSelectorTerm", terms)
    why = "must have exactly one node selector term"
    return [fielderrors.invalid(f"{path}.nodeSelectorTerms", shown, why)]


def one_place(value: Object, path: str, _frame: Frame) -> list[FieldError]:
    """Check that a slice names the nodes with access to its devices in exactly one way."""
    found = _places(value) + ["`perDeviceNodeSelection`"] * bool(
        value.get("perDeviceNodeSelection")
    )
    if not found:
        return [fielderrors.required(path, f"{_WHERE} is required")]
    if len(found) == 1:
        return []
    why = f"{_WHERE} is required, but multiple fields are set"
    return [fielderrors.invalid(path, f"{{{', '.join(found)}}}", why)]


def _places(value: Object) -> list[str]:
    found = ["`nodeName`"] if value.get("nodeName") else []
    found += ["`nodeSelector`"] if value.get("nodeSelector") is not None else []
    return found + (["`allNodes`"] if value.get("allNodes") else [])


def one_device_place(value: Object, path: str, frame: Frame) -> list[FieldError]:
    """Check that a device names exactly one place, if the slice sets perDeviceNodeSelection."""
    outer = frame.outer("perDeviceNodeSelection")
    if outer is None or not outer.obj["perDeviceNodeSelection"]:
        members = ("nodeName", "nodeSelector", "allNodes")
        if all(value.get(member) is None for member in members):
            return []
        why = (
            "`nodeName`, `nodeSelector` and `allNodes` can only be set if "
            "`perDeviceNodeSelection` is set to true in the ResourceSlice spec"
        )
        return [fielderrors.invalid(path, None, why)]
    found = _places(value)
    if not found:
        return [fielderrors.required(path, _EACH_WHERE)]
    if len(found) == 1:
        return []
    return [fielderrors.invalid(path, f"{{{', '.join(found)}}}", _EACH_WHERE)]


def is_advanced(frame: Frame) -> bool:
    """Return whether devices have taints or use counters, which lowers the permitted number of
    devices."""
    devices = frame.obj.get("devices") or ()
    return any(one.get("taints") or one.get("consumesCounters") for one in devices)


def few_entries(value: Object, path: str, _frame: Frame) -> list[FieldError]:
    """Check the total number of a device's attributes and capacities."""
    count = len(value.get("attributes") or {}) + len(value.get("capacity") or {})
    if count <= _MAX_ENTRIES:
        return []
    why = f"the total number of attributes and capacities must not exceed {_MAX_ENTRIES}"
    return [fielderrors.invalid(path, count, why)]


def one_value(missing: str, value: Object, path: str, _frame: Frame) -> list[FieldError]:
    """Check that an attribute has exactly one value (validateDeviceAttribute). A missing value is
    `invalid`, or `required` before 1.35."""
    found = [member for member in value if value[member] is not None]
    if len(found) == 1:
        return []
    if not found and missing == "required":
        return [fielderrors.required(path, _ONE_VALUE)]
    shown = internal.value("resource.DeviceAttribute", value) if found else ""
    return [fielderrors.invalid(path, shown, _ONE_VALUE)]


def fails_apart(value: str, path: str, frame: Frame) -> list[FieldError]:
    """Check that a binding failure condition is not also a binding condition."""
    if value not in (frame.obj.get("bindingConditions") or ()):
        return []
    why = "bindingFailureConditions must not overlap with bindingConditions"
    return [fielderrors.invalid(path, value, why)]


# capacity of which claims take a part


def request_policy(value: Object, path: str, frame: Frame) -> list[FieldError]:
    """Check the amounts of a capacity that a claim can request (validateRequestPolicy)."""
    options, bounds = value.get("validValues"), value.get("validRange")
    if options and bounds is not None:
        why = (
            'exactly one policy can be specified, cannot specify "validValues" and "validRange" '
            "at the same time"
        )
        return [fielderrors.forbidden(path, why)]
    if not options and bounds is None:
        return []
    member = "validValues" if options else "validRange"
    usual = value.get("default")
    if usual is None:
        why = f"required when {member} is defined"
        return [fielderrors.required(f"{path}.default", why)]
    whole = quantity.parse(frame.obj.get("value", "0"))
    if options:
        return _options(options, quantity.parse(usual), whole, f"{path}.validValues")
    return _range(bounds or {}, quantity.parse(usual), whole, f"{path}.validRange")


def _options(options: list[str], usual: Quantity, whole: Quantity, path: str) -> list[FieldError]:
    """Check that valid values are sorted, at most the capacity, and include the default."""
    parsed = [quantity.parse(option) for option in options]
    why = "values must be sorted in ascending order"
    errors = [
        fielderrors.invalid(f"{path}[{index}]", str(value), why)
        for index, value in enumerate(parsed)
        if index and parsed[index - 1] > value
    ]

    if len(parsed) > _MAX_OPTIONS:
        errors.append(fielderrors.too_many(path, len(parsed), _MAX_OPTIONS))
    else:
        errors += _judged(parsed, whole, path)
    if usual not in parsed:
        why = "default value is not valid according to the requestPolicy"
        errors.append(fielderrors.invalid(path, str(usual), why))
    return errors


def _judged(options: list[Quantity], whole: Quantity, path: str) -> list[FieldError]:
    """Check that no value exceeds the capacity. Then check that no two values are equal after
    rounding up."""
    why = f"option is larger than capacity value: {whole}"
    errors = [
        fielderrors.invalid(f"{path}[{index}]", str(value), why)
        for index, value in enumerate(options)
        if value > whole
    ]
    seen: set[str] = set()
    for index, value in enumerate(options):
        shown = str(_whole(value))
        if shown in seen:
            errors.append(fielderrors.duplicate(f"{path}[{index}]", shown))
        seen.add(shown)
    return errors


def _whole(value: Quantity) -> int:
    """Return `Quantity.Value`: the amount, rounded up."""
    found = value.as_int64()
    if found is not None:
        return found
    return -int(-value.as_float() // 1)


def _range(bounds: Object, usual: Quantity, whole: Quantity, path: str) -> list[FieldError]:
    """Check the minimum, the maximum and the step of a range."""
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
