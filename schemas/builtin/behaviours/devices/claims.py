"""Claims of devices and their templates: requests, constraints, and what was allocated.

A claim's spec never changes. Follows pkg/apis/resource/validation/validation.go,
pkg/apis/resource/v1/defaults.go and pkg/registry/resource/resourceclaim/strategy.go.
"""

from collections.abc import Collection, Iterator
from typing import Any, Final

from inkube.schemas import expressionsize, fielderrors
from inkube.schemas.builtin import rules
from inkube.schemas.builtin.behaviours import checks, metadata
from inkube.schemas.builtin.behaviours.base import BuiltinStrategy, same
from inkube.schemas.builtin.behaviours.devices import parts as deviceparts
from inkube.schemas.builtin.behaviours.devices import selectors as deviceselectors
from inkube.schemas.fielderrors import FieldError, Verbatim
from inkube.schemas.golang import netip
from inkube.schemas.gotypes import internal
from inkube.schemas.metadata import names
from inkube.schemas.objects import Object
from inkube.schemas.strategy import Context

_MAX_REQUESTS: Final = 32
_MAX_ALTERNATIVES: Final = 8
_MAX_USERS: Final = 256
_MAX_CONDITIONS: Final = 8
_MAX_ADDRESSES: Final = 16
_MAX_INTERFACE, _MAX_HARDWARE = 256, 128
_MODES: Final = ("All", "ExactCount")
_EXACTLY_ONE: Final = "exactly one of `exactly` or `firstAvailable` is required"
_NO_REQUEST: Final = (
    "must be the name of a request in the claim or the name of a request and a subrequest "
    "separated by '/'"
)


class Claims(BuiltinStrategy):
    """ResourceClaim."""

    def default(self, obj: Object) -> None:
        _fill(obj.get("spec") or {})

    def check(self, obj: Object) -> list[FieldError]:
        return expressionsize.errors(obj.get("spec"), "spec") or _devices(
            (obj.get("spec") or {}).get("devices") or {}, "spec.devices"
        )

    def check_update(self, obj: Object, old: Object) -> list[FieldError]:
        return _fixed(obj, old, "resource.ResourceClaimSpec")

    def prepare_status(self, context: Context, obj: Object, old: Object) -> None:
        """What drivers said of devices goes with their allocation."""
        super().prepare_status(context, obj, old)
        told = obj.get("status") or {}
        gone = _allocated(old.get("status") or {}) - _allocated(told)
        if gone and told.get("devices"):
            left = [device for device in told["devices"] if _identity(device) not in gone]
            told["devices"] = left
            if not left:
                del told["devices"]

    def check_status(self, obj: Object, old: Object) -> list[FieldError]:
        return list(_status(obj, old))


class Templates(BuiltinStrategy):
    """ResourceClaimTemplate."""

    def default(self, obj: Object) -> None:
        _fill((obj.get("spec") or {}).get("spec") or {})

    def check(self, obj: Object) -> list[FieldError]:
        spec = obj.get("spec") or {}
        if errors := expressionsize.errors(spec, "spec"):
            return errors
        given = spec.get("metadata") or {}
        errors = metadata.template(given, "spec.metadata")
        errors += metadata.only_labels(given, "spec.metadata")
        inner = (spec.get("spec") or {}).get("devices") or {}
        return errors + _devices(inner, "spec.spec.devices")

    def check_update(self, obj: Object, old: Object) -> list[FieldError]:
        return self.check(obj) + _fixed(obj, old, "resource.ResourceClaimTemplateSpec")


def _fixed(obj: Object, old: Object, struct: str) -> list[FieldError]:
    if same(obj.get("spec"), old.get("spec")):
        return []
    shown = internal.value(struct, obj.get("spec") or {})
    return [fielderrors.invalid("spec", shown, checks.IMMUTABLE)]


def _fill(spec: Object) -> None:
    for request in (spec.get("devices") or {}).get("requests") or ():
        alternatives = request.get("firstAvailable") or []
        for one in (request.get("exactly"), *alternatives):
            if one is None:
                continue
            if not one.get("allocationMode"):
                one["allocationMode"] = "ExactCount"
            if one["allocationMode"] == "ExactCount" and not one.get("count"):
                one["count"] = 1
            for toleration in one.get("tolerations") or ():
                if not toleration.get("operator"):
                    toleration["operator"] = "Equal"


def _devices(claim: Object, path: str) -> list[FieldError]:
    known = _requests(claim)
    errors = deviceparts.distinct(
        claim.get("requests"), f"{path}.requests", _request, _MAX_REQUESTS, _name
    )

    def constraint(given: Object, place: str) -> list[FieldError]:
        return _named_requests(given, place, known) + _constraint(given, place)

    def configuration(given: Object, place: str) -> list[FieldError]:
        errors = _named_requests(given, place, known)
        return errors + deviceparts.configuration(given, place)

    for member, check in (("constraints", constraint), ("config", configuration)):
        given = claim.get(member) or ()
        most = deviceparts.MAX_CONFIGURATIONS
        errors += deviceparts.listed(given, f"{path}.{member}", check, most)
    return errors


def _name(request: Object) -> str:
    found: str = request.get("name", "")
    return found


def _requests(claim: Object) -> frozenset[str]:
    """What references may say: `request`, or `request/alternative`."""
    found = set()
    for request in claim.get("requests") or ():
        found.add(_name(request))
        found |= {f"{_name(request)}/{_name(one)}" for one in request.get("firstAvailable") or ()}
    return frozenset(found)


def _request(request: Object, path: str) -> list[FieldError]:
    errors = deviceparts.label(_name(request), f"{path}.name")
    exactly, alternatives = request.get("exactly"), request.get("firstAvailable")
    if exactly is None and not alternatives:
        return [*errors, fielderrors.required(path, _EXACTLY_ONE)]
    if exactly is not None and alternatives:
        why = f"{_EXACTLY_ONE}, but multiple fields are set"
        return [*errors, fielderrors.invalid(path, None, why)]
    if exactly is not None:
        return errors + _exactly(exactly, f"{path}.exactly")
    place = f"{path}.firstAvailable"
    return errors + deviceparts.distinct(
        alternatives, place, _alternative, _MAX_ALTERNATIVES, _name
    )


def _alternative(given: Object, path: str) -> list[FieldError]:
    return deviceparts.label(_name(given), f"{path}.name") + _exactly(given, path)


def _exactly(given: Object, path: str) -> list[FieldError]:
    """A class of devices, which of them, and how many."""
    place, device_class = f"{path}.deviceClassName", given.get("deviceClassName", "")
    if device_class:
        errors = checks.named(device_class, place, names.dns1123_subdomain)
    else:
        errors = [fielderrors.required(place)]
    errors += deviceselectors.selectors(given.get("selectors"), f"{path}.selectors")
    mode, count = given.get("allocationMode", ""), given.get("count", 0)
    if mode == "All" and count:
        why = "must not be specified when allocationMode is 'All'"
        errors.append(fielderrors.invalid(f"{path}.count", count, why))
    elif mode == "ExactCount" and count <= 0:
        errors.append(fielderrors.invalid(f"{path}.count", count, "must be greater than zero"))
    elif mode not in _MODES:
        errors.append(fielderrors.not_supported(f"{path}.allocationMode", mode, _MODES))
    tolerations = given.get("tolerations") or ()
    errors += deviceparts.listed(tolerations, f"{path}.tolerations", deviceparts.toleration, -1)
    return errors


def _named_requests(given: Object, path: str, known: Collection[str]) -> list[FieldError]:
    def reference(value: str, place: str) -> list[FieldError]:
        return _reference(value, place, known)

    return deviceparts.distinct(
        given.get("requests"), f"{path}.requests", reference, _MAX_REQUESTS, deviceparts.itself
    )


def _reference(value: str, path: str, known: Collection[str]) -> list[FieldError]:
    parts = value.split("/")
    if len(parts) > 2:
        return [fielderrors.invalid(path, value, _NO_REQUEST)]
    errors = [error for part in parts for error in deviceparts.label(part, path)]
    if value not in known:
        errors.append(fielderrors.invalid(path, value, _NO_REQUEST))
    return errors


def _constraint(given: Object, path: str) -> list[FieldError]:
    for member in ("matchAttribute", "distinctAttribute"):
        if given.get(member) is not None:
            return deviceparts.full_name(given[member], f"{path}.{member}")
    why = (
        'exactly one of "matchAttribute" or "distinctAttribute" is required, but multiple fields '
        "are set"
    )  # the reference's words
    return [fielderrors.required(path, why)]


def _identity(device: Object) -> tuple[str, ...]:
    return tuple(device.get(member) or "" for member in ("driver", "pool", "device", "shareID"))


def _allocated(status: Object) -> set[tuple[str, ...]]:
    devices = (status.get("allocation") or {}).get("devices") or {}
    return {_identity(result) for result in devices.get("results") or ()}


def _status(obj: Object, old: Object) -> Iterator[FieldError]:
    told, before = obj.get("status") or {}, old.get("status") or {}
    users, path = told.get("reservedFor") or [], "status.reservedFor"
    yield from deviceparts.distinct(users, path, _user, _MAX_USERS, lambda user: user.get("uid"))
    allocated = _allocated(told)

    def device(given: Object, place: str) -> list[FieldError]:
        return list(_device(given, place, allocated))

    yield from deviceparts.distinct(
        told.get("devices"), "status.devices", device, -1, _shown_identity
    )
    allocation = told.get("allocation")
    if users and allocation is None:
        yield fielderrors.forbidden(path, "may not be specified when `allocated` is not set")
    elif users and obj["metadata"].get("deletionTimestamp"):
        had = before.get("reservedFor") or []
        if any(user not in had for user in users):
            why = (
                "new entries may not be added while `deallocationRequested` or "
                "`deletionTimestamp` are set"
            )
            yield fielderrors.forbidden(path, why)
    if allocation is None:
        return
    if before.get("allocation") is None:
        known = _requests((obj.get("spec") or {}).get("devices") or {})
        yield from _allocation(allocation, "status.allocation", known)
    elif not same(allocation, before["allocation"]):
        yield fielderrors.invalid("status.allocation", allocation, checks.IMMUTABLE)


def _user(user: Object, path: str) -> list[FieldError]:
    members = ("resource", "name", "uid")
    return [fielderrors.required(f"{path}.{member}") for member in members if not user.get(member)]


def _shown_identity(device: Object) -> Verbatim:
    *device_id, share = _identity(device)
    return Verbatim("/".join([*device_id, share] if share else device_id))


def _device(given: Object, path: str, allocated: Collection[tuple[str, ...]]) -> Iterator[Any]:
    """What a driver tells of a device that the claim has (validateDeviceStatus)."""
    yield from _place(given, path)
    if _identity(given) not in allocated:
        why = "must be an allocated device in the claim"
        yield fielderrors.invalid(path, _shown_identity(given), why)
    conditions = given.get("conditions") or []
    if len(conditions) > _MAX_CONDITIONS:
        yield fielderrors.too_many(f"{path}.conditions", len(conditions), _MAX_CONDITIONS)
    yield from checks.conditions(conditions, f"{path}.conditions")
    if given.get("data") is not None:
        yield from deviceparts.raw_object(given["data"], f"{path}.data")
    yield from _network(given.get("networkData") or {}, f"{path}.networkData")


def _place(given: Object, path: str) -> Iterator[FieldError]:
    """Which device: its driver, pool and name, and a share of it."""
    yield from deviceparts.driver(given.get("driver", ""), f"{path}.driver")
    yield from deviceparts.pool(given.get("pool", ""), f"{path}.pool")
    yield from deviceparts.label(given.get("device", ""), f"{path}.device")
    if given.get("shareID") is not None:
        yield from deviceparts.share(given["shareID"], f"{path}.shareID")


def _network(given: Object, path: str) -> Iterator[FieldError]:
    for member, most in (("interfaceName", _MAX_INTERFACE), ("hardwareAddress", _MAX_HARDWARE)):
        if len(given.get(member, "")) > most:
            yield fielderrors.too_long(f"{path}.{member}", most)
    addresses = given.get("ips")
    yield from deviceparts.distinct(
        addresses, f"{path}.ips", _address, _MAX_ADDRESSES, deviceparts.itself
    )


def _address(text: str, path: str) -> list[FieldError]:
    """An address of an interface: `192.168.1.5/24` (IsValidInterfaceAddress)."""
    address, _, bits = text.partition("/")
    try:
        netip.parse_prefix(text)
    except ValueError:
        why = "must be a valid address in CIDR form, (e.g. 10.9.8.7/24 or 2001:db8::1/64)"
        return [fielderrors.invalid(path, text, why)]
    canonical = f"{netip.parse_addr(address)}/{bits}"
    if canonical == text:
        return []
    return [fielderrors.invalid(path, text, f'must be in canonical form ("{canonical}")')]


def _allocation(given: Object, path: str, known: Collection[str]) -> Iterator[FieldError]:
    devices, place = given.get("devices") or {}, f"{path}.devices"

    def result(one: Object, at: str) -> list[FieldError]:
        errors = _reference(one.get("request", ""), f"{at}.request", known)
        errors += [*_place(one, at), *deviceparts.bindings(one, at)]
        tolerations = one.get("tolerations") or ()
        at = f"{at}.tolerations"
        return errors + deviceparts.listed(tolerations, at, deviceparts.toleration, -1)

    def configuration(one: Object, at: str) -> list[FieldError]:
        sources = ("FromClaim", "FromClass")
        errors = checks.one_of(one.get("source"), f"{at}.source", sources)
        errors += _named_requests(one, at, known)
        return errors + deviceparts.configuration(one, at)

    results = devices.get("results") or ()
    yield from deviceparts.listed(results, f"{place}.results", result, _MAX_REQUESTS)
    most = 2 * deviceparts.MAX_CONFIGURATIONS  # the class' and the claim's
    configurations = devices.get("config") or ()
    yield from deviceparts.listed(configurations, f"{place}.config", configuration, most)
    if given.get("nodeSelector") is not None:
        yield from rules.errors(
            "core.v1.NodeSelector", given["nodeSelector"], f"{path}.nodeSelector"
        )
