"""Claims of devices, their templates, and slices: the behavior that depends on the namespace, the
old status or the time. resource.rules contains all other rules.

Follows pkg/registry/resource/*/strategy.go and pkg/registry/resource/utils.go.
"""

from collections.abc import Callable, Iterable, Mapping

from inkube.schemas import fielderrors
from inkube.schemas.builtin.rules.calls.resource import allocated_devices, identity
from inkube.schemas.builtin.strategies.base import BuiltinStrategy
from inkube.schemas.definitions import Definition
from inkube.schemas.fielderrors import FieldError
from inkube.schemas.objects import Object
from inkube.schemas.strategy import Context

LabelsOf = Callable[[str], Mapping[str, str]]
"""Namespace → its labels; empty if the namespace does not exist."""
_ADMIN_LABEL = "resource.kubernetes.io/admin-access"
_NOT_ADMIN = (
    f"admin access to devices requires the `{_ADMIN_LABEL}: true` label on the containing namespace"
)


class _Namespaced(BuiltinStrategy):
    """The common part of claims and templates, which can request admin access to devices in
    namespaces with the label for it."""

    def __init__(self, definition: Definition, labels_of: LabelsOf | None = None) -> None:
        """Create the strategy. Without `labels_of`, as for offline checks, admin access is not
        checked."""
        super().__init__(definition)
        self._labels_of = labels_of

    def _administers(self, requests: Iterable[Object], obj: Object, path: str) -> list[FieldError]:
        """Return the error of the first request for admin access, if the namespace does not have
        the label (AuthorizedForAdmin)."""
        first = next((at for at, one in enumerate(requests) if one.get("adminAccess")), None)
        if first is None or self._labels_of is None:
            return []
        if self._labels_of(obj["metadata"]["namespace"]).get(_ADMIN_LABEL) == "true":
            return []
        return [fielderrors.forbidden(f"{path}[{first}].adminAccess", _NOT_ADMIN)]

    def _admin_errors(self, claim: Object, obj: Object) -> list[FieldError]:
        requests = (claim.get("devices") or {}).get("requests") or ()
        asked = [request.get("exactly") or {} for request in requests]
        return self._administers(asked, obj, "spec.devices.requests")


class Claims(_Namespaced):
    """The strategy of ResourceClaims."""

    def validate(self, context: Context, obj: Object) -> list[FieldError]:
        return self._admin_errors(obj.get("spec") or {}, obj) + super().validate(context, obj)

    def prepare_status(self, context: Context, obj: Object, old: Object) -> None:
        """Remove the status of devices that are no longer allocated
        (dropDeallocatedStatusDevices)."""
        super().prepare_status(context, obj, old)
        status = obj.get("status") or {}
        gone = allocated_devices(old.get("status") or {}) - allocated_devices(status)
        if gone and status.get("devices"):
            left = [device for device in status["devices"] if identity(device) not in gone]
            status["devices"] = left
            if not left:
                del status["devices"]

    def check_status(self, obj: Object, old: Object) -> list[FieldError]:
        had, has = _results(old), _results(obj)
        errors: list[FieldError] = []
        if not any(one.get("adminAccess") for one in had):
            errors = self._administers(has, obj, "status.allocation.devices.results")
        return errors + super().check_status(obj, old)


def _results(obj: Object) -> list[Object]:
    allocation = (obj.get("status") or {}).get("allocation") or {}
    found: list[Object] = (allocation.get("devices") or {}).get("results") or []
    return found


class Templates(_Namespaced):
    """The strategy of ResourceClaimTemplates. Errors about admin access have the
    paths of a claim."""

    def validate(self, context: Context, obj: Object) -> list[FieldError]:
        claim = (obj.get("spec") or {}).get("spec") or {}
        return self._admin_errors(claim, obj) + super().validate(context, obj)


class Slices(BuiltinStrategy):
    """The strategy of ResourceSlices, which sets the times of new taints."""

    def prepare_for_create(self, context: Context, obj: Object) -> None:
        super().prepare_for_create(context, obj)
        _date_taints(obj, context.now)

    def prepare_object(self, context: Context, obj: Object, old: Object) -> None:
        """Fields with disabled gates are counted before they are dropped."""
        self.count(obj, old)
        super().prepare_object(context, obj, old)
        _date_taints(obj, context.now)


def _date_taints(obj: Object, now: str) -> None:
    """Set missing `timeAdded` of taints to the current time, in place."""
    for device in (obj.get("spec") or {}).get("devices") or ():
        for taint in device.get("taints") or ():
            if taint.get("timeAdded") is None:
                taint["timeAdded"] = now
