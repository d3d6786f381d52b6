"""Irregular rules of PersistentVolumes and PersistentVolumeClaims."""

import posixpath
from collections.abc import Iterator

from inkube.schemas import fielderrors, quantity
from inkube.schemas.builtin import resourcenames
from inkube.schemas.builtin.rules.calls import core_podwarnings, core_volumes
from inkube.schemas.builtin.rules.frames import Frame
from inkube.schemas.builtin.rules.words import IMMUTABLE
from inkube.schemas.fielderrors import FieldError
from inkube.schemas.gotypes import internal
from inkube.schemas.metadata import names
from inkube.schemas.objects import Object
from inkube.schemas.objects import semantically_same as same

_MODES = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
_ALONE = "ReadWriteOncePod"
_BETA_CLASS = "volume.beta.kubernetes.io/storage-class"
_MOUNT_OPTIONS = "volume.beta.kubernetes.io/mount-options"
_MOUNTED = frozenset({
    "awsElasticBlockStore", "azureDisk", "azureFile", "cephfs", "cinder", "csi",
    "gcePersistentDisk", "glusterfs", "iscsi", "nfs", "rbd", "vsphereVolume",
})  # fmt: skip
"""Sources that support mount options (pkg/volume/validation)."""
_SOURCES = (
    "gcePersistentDisk", "awsElasticBlockStore", "hostPath", "glusterfs", "nfs", "rbd", "quobyte",
    "iscsi", "flexVolume", "cinder", "cephfs", "fc", "flocker", "azureFile", "vsphereVolume",
    "azureDisk", "photonPersistentDisk", "portworxVolume", "scaleIO", "local", "storageos", "csi",
)  # fmt: skip
_POSITIVE = "must be greater than zero"
_GA_LABELS = {
    "failure-domain.beta.kubernetes.io/zone": "topology.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region": "topology.kubernetes.io/region",
    "beta.kubernetes.io/os": "kubernetes.io/os",
    "beta.kubernetes.io/arch": "kubernetes.io/arch",
    "beta.kubernetes.io/instance-type": "node.kubernetes.io/instance-type",
}
_RESIZES = (
    "ControllerResizeInProgress", "ControllerResizeInfeasible", "NodeResizeInProgress",
    "NodeResizeInfeasible", "NodeResizePending",
)  # fmt: skip
"""The states of a resize, in the order of the error text."""
_FIXED_SOURCE = "spec.persistentvolumesource is immutable after creation\n"
_FIXED_CLAIM = (
    "spec is immutable after creation except resources.requests and volumeAttributesClassName "
    "for bound claims\n"
)


def group_told(reference: Object) -> None:
    """Set a missing apiGroup to null, because the Go field is a pointer without omitempty."""
    reference.setdefault("apiGroup", None)


def access_modes(value: list[str], path: str, _frame: Frame) -> list[FieldError]:
    """Check that access modes are known, and that ReadWriteOncePod is alone."""
    errors = [fielderrors.not_supported(path, mode, _MODES) for mode in value if mode not in _MODES]
    known = {mode for mode in value if mode in _MODES}
    if _ALONE in known and len(known) > 1:
        why = f"may not use {_ALONE} with other access modes"
        errors.append(fielderrors.forbidden(path, why))
    return errors


# volumes


def capacity(value: Object, path: str, _frame: Frame) -> list[FieldError]:
    """Check that the capacity consists of a positive amount of storage."""
    given, place = value.get("capacity") or {}, f"{path}.capacity"
    errors = []
    if given.keys() != {"storage"}:
        errors.append(fielderrors.not_supported(place, value.get("capacity"), ("storage",)))
    for name, amount in sorted(given.items()):
        errors += _amount(amount, f"{place}[{name}]")
    return errors


def _amount(amount: str, path: str) -> list[FieldError]:
    """Check that an amount is valid and positive (validateBasicResource,
    ValidatePositiveQuantityValue)."""
    errors = _basic(amount, path)
    if quantity.parse(amount).sign <= 0:
        errors.append(fielderrors.invalid(path, amount, _POSITIVE))
    return errors


def _basic(amount: str, path: str) -> list[FieldError]:
    """Check that an amount, rounded up to an int64, is not negative (validateBasicResource)."""
    rounded = quantity.parse(amount).scaled(0)
    if rounded >= 0:
        return []
    return [fielderrors.invalid(path, rounded, "must be a valid resource quantity")]


def not_recycled(value: Object, path: str, _frame: Frame) -> list[FieldError]:
    """Refuse to recycle the root folder of a node."""
    if posixpath.normpath(value["hostPath"].get("path", "")).replace("//", "/") != "/":
        return []
    why = "may not be 'recycle' for a hostPath mount of '/'"
    return [fielderrors.forbidden(f"{path}.persistentVolumeReclaimPolicy", why)]


def local_to_nodes(value: Object, path: str, _frame: Frame) -> list[FieldError]:
    """Check that a local volume has a node affinity, unless it already has another source."""
    others = _SOURCES[: _SOURCES.index("local")]
    if value.get("nodeAffinity") is not None or any(value.get(each) is not None for each in others):
        return []
    return [fielderrors.required(f"{path}.nodeAffinity", "Local volume requires node affinity")]


def portal_length(value: Object, path: str, frame: Frame) -> list[FieldError]:
    """Check the length of the volume's name and portal, because initiators name their targets by
    both."""
    portal = value.get("targetPortal", "")
    name = frame.root.obj["metadata"].get("name", "") if "metadata" in frame.root.obj else ""
    if core_volumes.fits_portal(name, portal):
        return []
    return [fielderrors.invalid(f"{path}.targetportal", portal, core_volumes.PORTAL)]


def mount_options(value: Object, _path: str, _frame: Frame) -> list[FieldError]:
    """Check that the source of a volume with the deprecated annotation supports mount options
    (pkg/volume/validation)."""
    spec = value.get("spec") or {}
    asked = _MOUNT_OPTIONS in (value["metadata"].get("annotations") or {})
    if not asked or _MOUNTED & spec.keys():
        return []
    why = "may not specify mount options for this volume type"
    return [fielderrors.forbidden("metadata.annotations", why)]


def volume_kept(value: Object, _path: str, frame: Frame) -> list[FieldError]:
    """Check that an update does not change immutable fields of a volume
    (ValidatePersistentVolumeUpdate)."""
    spec, before = value["spec"], (frame.old or {})["spec"]
    errors = []
    new, old = _source(spec), _source(before)
    added = (new.get("csi") or {}).get("controllerExpandSecretRef")
    if old.get("csi") and added is not None and not old["csi"].get("controllerExpandSecretRef"):
        new = {**new, "csi": {**new["csi"], "controllerExpandSecretRef": None}}
    if new.keys() != old.keys() or not same(new, old):
        why: str = internal.difference(_FIXED_SOURCE, "core.PersistentVolumeSource", old, new)
        errors.append(fielderrors.forbidden("spec.persistentvolumesource", why))
    if not same(spec.get("volumeMode"), before.get("volumeMode")):
        errors.append(fielderrors.invalid("volumeMode", spec.get("volumeMode"), IMMUTABLE))
    nodes, known = spec.get("nodeAffinity"), before.get("nodeAffinity")
    if known is not None and not _same_nodes(nodes, known):
        why = f"{IMMUTABLE}, except for updating from beta label to GA"
        shown = None if nodes is None else internal.value("core.VolumeNodeAffinity", nodes)
        errors.append(fielderrors.invalid("nodeAffinity", shown, why))
    member = "volumeAttributesClassName"
    if before.get(member) is not None and spec.get(member) is None:
        why = "update from non-nil value to nil is forbidden"
        errors.append(fielderrors.forbidden(f"spec.{member}", why))
    return errors


def _source(spec: Object) -> Object:
    return {member: spec[member] for member in _SOURCES if spec.get(member) is not None}


def _same_nodes(new: Object | None, old: Object) -> bool:
    """Return whether node affinities are equal, apart from labels that lost their beta prefix
    (getMaskNodeSelectorLabelChangeEqualities)."""
    terms = [
        ((each or {}).get("required") or {}).get("nodeSelectorTerms") or [] for each in (new, old)
    ]
    if new is None or len(terms[0]) != len(terms[1]):
        return same(new, old)
    return all(
        len(now.get(member) or ()) == len(was.get(member) or ())
        and all(map(_same_requirement, now.get(member) or (), was.get(member) or ()))
        for now, was in zip(*terms, strict=True)
        for member in ("matchExpressions", "matchFields")
    )


def _same_requirement(now: Object, was: Object) -> bool:
    if now.get("key", "") == _GA_LABELS.get(was.get("key", ""), ""):  # also two empty keys
        was = {**was, "key": now["key"]}
    return same(now, was)


_GONE_PLUGINS = (
    ("cephfs", "cephfs", "deprecated in v1.28, non-functional in v1.31+"),
    ("photonPersistentDisk", "photonPersistentDisk",
     "deprecated in v1.11, non-functional in v1.16+"),
    ("scaleIO", "scaleIO", "deprecated in v1.16, non-functional in v1.22+"),
    ("storageos", "storageOS", "deprecated in v1.22, non-functional in v1.25+"),
    ("glusterfs", "glusterfs", "deprecated in v1.25, non-functional in v1.26+"),
    ("rbd", "rbd", "deprecated in v1.28, non-functional in v1.31+"),
)  # fmt: skip
"""Sources of volumes that do nothing any more: the member, its name in warnings, and the text."""


def volume_warnings(value: Object, _path: str, _frame: Frame) -> list[str]:
    """Return the warnings about a volume (pkg/api/persistentvolume,
    GetWarningsForPersistentVolume)."""
    spec = value["spec"]
    found = _class_warnings(value)
    if _MOUNT_OPTIONS in (value["metadata"].get("annotations") or {}):
        where = f"metadata.annotations[{_MOUNT_OPTIONS}]"
        found.append(f'{where}: deprecated since v1.31; use "spec.mountOptions" attribute instead')
    if spec.get("persistentVolumeReclaimPolicy") == "Recycle":
        found.append(
            "spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. "
            "Instead, the recommended approach is to use dynamic provisioning."
        )
    terms = ((spec.get("nodeAffinity") or {}).get("required") or {}).get("nodeSelectorTerms") or []
    place = "spec.nodeAffinity.required.nodeSelectorTerms"
    found += core_podwarnings.terms_of_volume(terms, place)
    return found + [f"spec.{name}: {why}" for key, name, why in _GONE_PLUGINS if key in spec]


def _class_warnings(obj: Object) -> list[str]:
    if _BETA_CLASS not in (obj["metadata"].get("annotations") or {}):
        return []
    where = f"metadata.annotations[{_BETA_CLASS}]"
    return [f'{where}: deprecated since v1.8; use "storageClassName" attribute instead']


# claims


def requested(value: Object, path: str, _frame: Frame) -> list[FieldError]:
    """Check that a claim requests a positive amount of storage."""
    amount = _requests(value).get("storage")
    place = f"{path}.resources[storage]"
    if amount is None:
        return [fielderrors.required(place)]
    if quantity.parse(amount).sign <= 0:
        return [fielderrors.invalid(place, amount, _POSITIVE)]
    return []


def _requests(spec: Object) -> Object:
    found: Object = (spec.get("resources") or {}).get("requests") or {}
    return found


def same_sources(value: Object, path: str, _frame: Frame) -> list[FieldError]:
    """Check that the older member dataSource equals dataSourceRef. The error shows `{}` as the
    value."""
    source, reference = value["dataSource"], value["dataSourceRef"]
    if reference.get("namespace"):
        why = "may not be specified when dataSourceRef.namespace is specified"
    elif any(source.get(part) != reference.get(part) for part in ("apiGroup", "kind", "name")):
        why = "must match dataSourceRef"
    else:
        return []
    return [fielderrors.invalid(path, fielderrors.Verbatim("{}"), why)]


def claim_kept(value: Object, _path: str, frame: Frame) -> list[FieldError]:
    """Check that an update does not change immutable fields of a claim
    (ValidatePersistentVolumeClaimUpdate)."""
    old = frame.old or {}
    errors: list[FieldError] = []
    spec, before = dict(value["spec"]), dict(old["spec"])
    if not before.get("volumeName"):
        before["volumeName"] = spec.get("volumeName")
    noted, was_noted = (
        (each["metadata"].get("annotations") or {}).get(_BETA_CLASS) for each in (value, old)
    )
    name, had = spec.get("storageClassName"), before.get("storageClassName")
    if was_noted is not None and had is None and name == was_noted and noted in (None, was_noted):
        spec.pop("storageClassName", None)
    else:
        if noted != was_noted:
            where = f"metadata.annotations.{_BETA_CLASS}"
            errors.append(fielderrors.invalid(where, noted or "", IMMUTABLE))
        if name is not None and had is None and was_noted in (None, name):
            spec.pop("storageClassName", None)
    bound = (value.get("status") or {}).get("phase") == "Bound"
    if bound:
        spec["resources"] = {**(spec.get("resources") or {}), "requests": {
            **_requests(spec), "storage": _requests(before).get("storage", "0")
        }}  # fmt: skip
        spec["volumeAttributesClassName"] = before.get("volumeAttributesClassName")
    if not same(spec, before):
        why = internal.difference(_FIXED_CLAIM, "core.PersistentVolumeClaimSpec", before, spec)
        errors.append(fielderrors.forbidden("spec", why))
    errors += _not_smaller(value, old)
    mode = value["spec"].get("volumeMode")
    if not same(mode, before.get("volumeMode")):
        errors.append(fielderrors.invalid("volumeMode", mode, IMMUTABLE))
    return errors + _class_kept(value["spec"], old)


def _not_smaller(value: Object, old: Object) -> list[FieldError]:
    asked, had = (
        quantity.parse(_requests(each["spec"]).get("storage", "0")) for each in (value, old)
    )
    there = ((old.get("status") or {}).get("capacity") or {}).get("storage", "0")
    if asked >= had or asked > quantity.parse(there):
        return []
    why = "field can not be less than status.capacity"
    return [fielderrors.forbidden("spec.resources.requests.storage", why)]


def _class_kept(spec: Object, old: Object) -> list[FieldError]:
    member, name = "volumeAttributesClassName", spec.get("volumeAttributesClassName")
    current = (old.get("status") or {}).get("currentVolumeAttributesClassName")
    if current is None or same(name, old["spec"].get(member)) or name:
        return []
    what = "nil" if name is None else "empty string"
    why = f"update to {what} is forbidden when status.currentVolumeAttributesClassName is not nil"
    return [fielderrors.forbidden(f"spec.{member}", why)]


def claim_warnings(value: Object, _path: str, _frame: Frame) -> list[str]:
    """Return the warnings about a claim (pkg/api/persistentvolumeclaim,
    GetWarningsForPersistentVolumeClaim)."""
    requests = _requests(value["spec"])
    found = core_podwarnings.fractions(requests, "storage", "spec.resources.requests")
    return [*_class_warnings(value), *found]


# the status of a claim


def valid_amount(value: str, path: str, _frame: Frame) -> list[FieldError]:
    """Check an amount of a claim's status (validateBasicResource)."""
    return _basic(value, path)


def resizes(value: dict[str, str], path: str, _frame: Frame) -> Iterator[FieldError]:
    """Yield the errors of `allocatedResourceStatuses`: resources, and the states of
    their resizes."""
    for name, state in sorted(value.items()):
        yield from _claimed(name, path)
        if state not in _RESIZES:
            yield fielderrors.not_supported(path, name, _RESIZES)


def allocated(value: dict[str, str], path: str, frame: Frame) -> Iterator[FieldError]:
    """Yield the errors of `allocatedResources`: resources, and amounts of storage."""
    for name, amount in sorted(value.items()):
        place = f"{path}[{name}]"
        yield from (
            _claimed(name, path)
            or valid_amount(amount, place, frame)
            or resourcenames.check_amount("storage", amount, place)
        )


def _claimed(name: str, path: str) -> list[FieldError]:
    """Check that a resource of a claim is storage or has another domain
    (validatePersistentVolumeClaimResourceKey)."""
    errors = [fielderrors.invalid(path, name, why) for why in names.label_key(name)]
    if not errors and resourcenames.is_native(name) and name != "storage":
        return [fielderrors.not_supported(path, name, ("storage",))]
    return errors
