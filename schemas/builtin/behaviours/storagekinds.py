"""Volumes, claims, storage classes and CSI drivers, as stored objects.

Follows core validation ValidatePersistentVolume(Claim) and pkg/apis/storage.
"""

from inkube.schemas import fielderrors
from inkube.schemas.builtin.behaviours import checks, poddefaults
from inkube.schemas.builtin.behaviours.base import Behaviour, same
from inkube.schemas.fielderrors import FieldError
from inkube.schemas.metadata import names
from inkube.schemas.objects import Object

_MODES = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
_VOLUME_MODES = ("Block", "Filesystem")
_CLAIM_FIXED = (
    "spec is immutable after creation except resources.requests and volumeAttributesClassName "
    "for bound claims\n"
)


def _access_modes(spec: Object) -> list[FieldError]:
    return [
        fielderrors.not_supported("spec.accessModes", mode, _MODES)
        for mode in spec.get("accessModes") or []
        if mode not in _MODES
    ]


class Claims(Behaviour):
    """Nothing but requests may change."""

    returns_deleted = True

    def default(self, obj: Object) -> None:
        obj.setdefault("spec", {}).setdefault("volumeMode", "Filesystem")

    def prepare_create(self, obj: Object) -> None:
        obj["status"] = {"phase": "Pending"}

    def check(self, obj: Object) -> list[FieldError]:
        spec = obj.get("spec") or {}
        errors = []
        if not spec.get("accessModes"):
            why = "at least 1 access mode is required"
            errors.append(fielderrors.required("spec.accessModes", why))
        errors += _access_modes(spec)
        errors += checks.label_selector(spec.get("selector"), "spec.selector")
        storage = ((spec.get("resources") or {}).get("requests") or {}).get("storage")
        path = "spec.resources[storage]"
        if storage is None:
            errors.append(fielderrors.required(path))
        elif storage.startswith("-") or storage == "0":
            errors.append(fielderrors.invalid(path, storage, "must be greater than zero"))
        return errors

    def validate_update(self, obj: Object, old: Object) -> list[FieldError]:
        errors = self.check(obj)
        new, before = (
            {k: v for k, v in o["spec"].items() if k not in ("resources", "volumeName")}
            for o in (obj, old)
        )
        if not same(new, before):
            errors.append(fielderrors.forbidden("spec", _CLAIM_FIXED))
        return errors


class Volumes(Behaviour):
    """Persistent volumes."""

    returns_deleted = True

    def default(self, obj: Object) -> None:
        spec = obj.setdefault("spec", {})
        poddefaults.fill(
            spec, {"persistentVolumeReclaimPolicy": "Retain", "volumeMode": "Filesystem"}
        )
        if spec.get("hostPath") is not None:
            spec["hostPath"].setdefault("type", "")

    def prepare_create(self, obj: Object) -> None:
        obj["status"] = {"phase": "Pending"}

    def check(self, obj: Object) -> list[FieldError]:
        spec = obj.get("spec") or {}
        errors = []
        if not spec.get("accessModes"):
            errors.append(fielderrors.required("spec.accessModes"))
        errors += _access_modes(spec)
        capacity = spec.get("capacity") or {}
        if not capacity:
            errors.append(fielderrors.required("spec.capacity"))
        elif capacity.keys() != {"storage"}:
            value = sorted(capacity)
            errors.append(fielderrors.not_supported("spec.capacity", value, ["storage"]))
        sources = [m for m in spec if isinstance(spec[m], dict) and m not in _NO_SOURCES]
        if not sources:
            errors.append(fielderrors.required("spec", "must specify a volume type"))
        errors += [
            fielderrors.forbidden(f"spec.{member}", "may not specify more than 1 volume type")
            for member in sources[1:]
        ]
        policies = ("Delete", "Recycle", "Retain")
        policy = spec.get("persistentVolumeReclaimPolicy")
        return errors + checks.one_of(policy, "spec.persistentVolumeReclaimPolicy", policies)


_NO_SOURCES = frozenset({"capacity", "claimRef", "nodeAffinity"})


class StorageClasses(Behaviour):
    """Immutable but for allowVolumeExpansion."""

    returns_deleted = True

    def default(self, obj: Object) -> None:
        obj.setdefault("reclaimPolicy", "Delete")
        obj.setdefault("volumeBindingMode", "Immediate")

    def check(self, obj: Object) -> list[FieldError]:
        provisioner = obj.get("provisioner", "")
        if not provisioner:
            errors = [fielderrors.required("provisioner")]
        else:
            errors = checks.named(provisioner.lower(), "provisioner", names.label_key)
        errors += checks.one_of(obj.get("reclaimPolicy"), "reclaimPolicy", ("Delete", "Retain"))
        modes = ("Immediate", "WaitForFirstConsumer")
        return errors + checks.one_of(obj.get("volumeBindingMode"), "volumeBindingMode", modes)

    def validate_update(self, obj: Object, old: Object) -> list[FieldError]:
        errors = []
        for member in ("parameters", "provisioner", "reclaimPolicy"):
            if not same(obj.get(member), old.get(member)):
                why = f"updates to {member} are forbidden."
                errors.append(fielderrors.forbidden(member, why))
        return errors + checks.immutable(obj, old, "", "volumeBindingMode")


class Drivers(Behaviour):
    """CSIDrivers with their many defaults."""

    generation = ("spec",)
    returns_deleted = True
    unconditional_update = False

    def default(self, obj: Object) -> None:
        spec = obj.setdefault("spec", {})
        for member, value in (
            ("attachRequired", True), ("podInfoOnMount", False), ("storageCapacity", False),
            ("requiresRepublish", False), ("seLinuxMount", False),
            ("fsGroupPolicy", "ReadWriteOnceWithFSType"),
        ):  # fmt: skip
            spec.setdefault(member, value)
        if not spec.get("volumeLifecycleModes"):
            spec["volumeLifecycleModes"] = ["Persistent"]


class Kept(Behaviour):
    """Kinds whose DELETE answers the object, and no more."""

    returns_deleted = True
