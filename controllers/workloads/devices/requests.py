"""Requests of claims, and the constraints between their devices.

A request with `firstAvailable` has several alternatives, every other one has exactly one.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from inkube import formats
from inkube.client import Object
from inkube.controllers.workloads import matching
from inkube.controllers.workloads.devices.pools import Device, matches_node

FindClass = Callable[[str], Object | None]
_EFFECTS = ("NoSchedule", "NoExecute")


class AllocationError(Exception):
    """A claim that cannot be allocated before it or another object changes. The text is
    upstream's."""


@dataclass
class Request:
    """One alternative of a request, with the class of its devices."""

    claim: Object
    name: str
    """The name in results: `gpu`, or `gpu/large` for an alternative."""
    own: str
    """The name in errors: `gpu`, or `large`."""
    spec: Object
    device_class: Object
    position: int = 0
    """The place in `firstAvailable`; 0 otherwise."""
    devices: list[Device] = field(default_factory=list)
    """The devices of a request for all of them."""
    _selected: dict[tuple[str, str, str], bool] = field(default_factory=dict)

    @property
    def wants_all(self) -> bool:
        """Whether the request is for all devices that match."""
        return bool(self.spec.get("allocationMode") == "All")

    @property
    def count(self) -> int:
        """The number of devices."""
        return len(self.devices) if self.wants_all else int(self.spec.get("count") or 1)

    @property
    def is_admin(self) -> bool:
        """Whether the request is for access to devices that others use."""
        return bool(self.spec.get("adminAccess"))

    def names(self) -> tuple[str, str]:
        """Return the names by which constraints and configurations can refer to the request."""
        return self.name.partition("/")[0], self.name

    def tolerates(self, device: Object) -> bool:
        """Return whether the request tolerates the taints of a device (taintPreventsAllocation)."""
        tolerations = self.spec.get("tolerations") or []
        return matching.untolerated_taint(tolerations, device.get("taints") or (), _EFFECTS) is None

    def selects(self, device: Device, node: Object) -> bool:
        """Return whether the class, the request and the node accept a device (isSelectable).

        Raises AllocationError if an expression fails.
        """
        found = self._selected.get(device.name)
        if found is None:
            found = self._selected[device.name] = self._matches(device, node)
        return found

    def _matches(self, device: Device, node: Object) -> bool:
        named = f"class {self.device_class['metadata']['name']}"
        spec = self.device_class.get("spec") or {}
        return (
            _all_match(spec.get("selectors"), device, named)
            and _all_match(self.spec.get("selectors"), device, f"claim {place(self.claim)}")
            and (
                not device.slice["spec"].get("perDeviceNodeSelection")
                or matches_node(device.object, node)
            )
        )


def alternatives(claim: Object, request: Object, find_class: FindClass) -> Iterator[Request]:
    """Yield the alternatives of a request in their order. Raises AllocationError."""
    name = request["name"]
    if request.get("exactly"):
        spec = request["exactly"]
        yield Request(claim, name, name, spec, _class_of(spec, name, find_class))
        return
    for position, spec in enumerate(request.get("firstAvailable") or ()):
        whole = f"{name}/{spec['name']}"
        device_class = _class_of(spec, whole, find_class)
        yield Request(claim, whole, spec["name"], spec, device_class, position)


def place(obj: Object) -> str:
    """Return the namespace and the name of an object."""
    return f"{obj['metadata']['namespace']}/{obj['metadata']['name']}"


def _class_of(spec: Object, request: str, find_class: FindClass) -> Object:
    name = spec.get("deviceClassName") or ""
    found = find_class(name)
    if found is None:
        raise AllocationError(f"request {request}: device class {name} does not exist")
    return found


def _all_match(selectors: list[Object] | None, device: Device, named: str) -> bool:
    for number, each in enumerate(selectors or ()):
        text = each["cel"]["expression"]
        try:
            if not formats.deviceselectors.matches(text, device.name[0], device.object):
                return False
        except formats.cel.CompileError as error:
            why = f"CEL compile error: {error}"
            raise AllocationError(f"{named}: selector #{number}: {why}") from error
        except formats.cel.CelError as error:
            why = f"CEL runtime error: {error}"
            raise AllocationError(f"{named}: selector #{number}: {why}") from error
    return True


class Constraint:
    """A constraint of a claim: the devices of its requests have the same value of an attribute, or
    all have different ones."""

    def __init__(self, spec: Object) -> None:
        self._requests = set(spec.get("requests") or ())
        self._is_distinct = bool(spec.get("distinctAttribute"))
        self._attribute: str = spec.get("matchAttribute") or spec.get("distinctAttribute") or ""
        self._values: list[tuple[str, Any]] = []

    def add(self, request: Request, device: Device) -> bool:
        """Add a device, if the constraint holds with it. Returns whether it holds."""
        if not self._concerns(request):
            return True
        value = _attribute(device, self._attribute)
        if value is None:
            return False
        if value in self._values if self._is_distinct else self._values[:1] not in ([], [value]):
            return False
        self._values.append(value)
        return True

    def remove(self, request: Request) -> None:
        """Remove the device that was added last."""
        if self._concerns(request):
            self._values.pop()

    def _concerns(self, request: Request) -> bool:
        return not self._requests or not self._requests.isdisjoint(request.names())


def _attribute(device: Device, name: str) -> tuple[str, Any] | None:
    """Return the type and the value of an attribute, or None without it (lookupAttribute)."""
    attributes = device.object.get("attributes") or {}
    domain, _, short = name.partition("/")
    found = attributes.get(name)
    if found is None and domain == device.name[0]:
        found = attributes.get(short)
    if not found:
        return None
    [(kind, value)] = list(found.items())[:1]
    return kind, value
