"""What is wrong with a pod's volumes. Follows core validation ValidateVolumes."""

from inkube.schemas import fielderrors, quantity
from inkube.schemas.builtin.behaviours import checks, naming
from inkube.schemas.builtin.behaviours.pods import fieldrefs
from inkube.schemas.fielderrors import FieldError
from inkube.schemas.objects import Object

_REQUIRED: dict[str, tuple[str, ...]] = {
    "awsElasticBlockStore": ("volumeID",),
    "azureDisk": ("diskName", "diskURI"),
    "azureFile": ("secretName", "shareName"),
    "cephfs": ("monitors",),
    "cinder": ("volumeID",),
    "configMap": ("name",),
    "csi": ("driver",),
    "flexVolume": ("driver",),
    "gcePersistentDisk": ("pdName",),
    "gitRepo": ("repository",),
    "glusterfs": ("endpoints", "path"),
    "hostPath": ("path",),
    "iscsi": ("targetPortal", "iqn"),
    "nfs": ("server", "path"),
    "persistentVolumeClaim": ("claimName",),
    "rbd": ("monitors", "image"),
    "secret": ("secretName",),
}
ORDER = (
    "emptyDir", "hostPath", "gitRepo", "gcePersistentDisk", "awsElasticBlockStore", "secret", "nfs",
    "iscsi", "glusterfs", "flocker", "persistentVolumeClaim", "rbd", "cinder", "cephfs",
    "downwardAPI", "fc", "flexVolume", "configMap", "azureFile", "vsphereVolume", "quobyte",
    "azureDisk", "portworxVolume", "storageos", "projected", "scaleIO", "csi", "ephemeral", "image",
)  # fmt: skip
"""The order in which sources are looked at: all after the first are one too many."""
_HOST_PATHS = (
    "", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate",
    "Socket",
)  # fmt: skip
_MODE = "must be a number between 0 and 0777 (octal), both inclusive"
_MIN_EXPIRATION, _MAX_EXPIRATION = 600, 1 << 32


def validate(volumes: list[Object], path: str) -> tuple[list[FieldError], dict[str, Object]]:
    """Names and sources; what is wrong, and the volumes by name that nothing is wrong with."""
    errors: list[FieldError] = []
    known: dict[str, Object] = {}
    seen: set[str] = set()
    for index, volume in enumerate(volumes):
        place = f"{path}[{index}]"
        found = _source(volume, place)
        name = volume.get("name", "")
        if not name:
            found.append(fielderrors.required(f"{place}.name"))
        else:
            found += checks.named(name, f"{place}.name", naming.label)
        if name in seen:
            found.append(fielderrors.duplicate(f"{place}.name", name))
        if found:
            errors += found
        else:
            seen.add(name)
            known[name] = volume
    return errors, known


def _source(volume: Object, path: str) -> list[FieldError]:
    sources = sorted(
        (member for member in volume if member != "name"),
        key=lambda member: ORDER.index(member) if member in ORDER else len(ORDER),
    )
    if not sources:
        return [fielderrors.required(path, "must specify a volume type")]
    first = sources[0]
    return source(first, volume[first], f"{path}.{first}") + [
        fielderrors.forbidden(f"{path}.{extra}", "may not specify more than 1 volume type")
        for extra in sources[1:]
    ]


def source(kind: str, given: Object, path: str) -> list[FieldError]:
    """What is wrong with one source, of a pod's volume or a persistent one."""
    errors = [
        fielderrors.required(f"{path}.{member}")
        for member in _REQUIRED.get(kind, ())
        if not given.get(member)
    ]
    if kind == "nfs" and given.get("path") and not given["path"].startswith("/"):
        why = "must be an absolute path"
        errors.append(fielderrors.invalid(f"{path}.path", given["path"], why))
    return errors + _details(kind, given, path)


def _details(kind: str, source: Object, path: str) -> list[FieldError]:
    if kind == "emptyDir":
        limit = source.get("sizeLimit")
        if limit is not None and quantity.parse(limit).sign < 0:
            why = "SizeLimit field must be a valid resource quantity"
            return [fielderrors.forbidden(f"{path}.sizeLimit", why)]
        return []
    if kind == "hostPath":
        return _host_path(source, path)
    if kind in ("secret", "configMap"):
        return mode(source, path, "defaultMode") + items(source, path)
    if kind == "downwardAPI":
        return mode(source, path, "defaultMode") + _downward(source, path)
    if kind == "projected":
        return mode(source, path, "defaultMode") + _projected(source, path)
    if kind == "image":
        policy = source.get("pullPolicy")
        errors = [] if source.get("reference") else [fielderrors.required(f"{path}.reference")]
        return errors + checks.one_of(
            policy, f"{path}.pullPolicy", ("Always", "IfNotPresent", "Never")
        )
    return []


def _host_path(source: Object, path: str) -> list[FieldError]:
    given, kind = source.get("path", ""), source.get("type") or ""
    errors = []
    if ".." in given.split("/"):
        errors.append(fielderrors.invalid(f"{path}.path", given, "must not contain '..'"))
    if kind not in _HOST_PATHS:
        errors.append(fielderrors.not_supported(f"{path}.type", kind, _HOST_PATHS))
    return errors


def mode(source: Object, path: str, member: str) -> list[FieldError]:
    """A file mode within what files have."""
    value = source.get(member)
    if value is None or 0 <= value <= 0o777:
        return []
    return [fielderrors.invalid(f"{path}.{member}", value, _MODE)]


def items(source: Object, path: str) -> list[FieldError]:
    """Keys that become files (validateKeyToPath)."""
    errors = []
    for index, item in enumerate(source.get("items") or []):
        place = f"{path}.items[{index}]"
        if not item.get("key"):
            errors.append(fielderrors.required(f"{place}.key"))
        target = item.get("path", "")
        if not target:
            errors.append(fielderrors.required(f"{place}.path"))
        else:
            errors += checks.unreserved(target, f"{place}.path")
        errors += mode(item, place, "mode")
    return errors


def _downward(source: Object, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    for item in source.get("items") or []:
        errors += _downward_item(item, path)
    return errors


def _downward_item(item: Object, path: str) -> list[FieldError]:
    """validateDownwardAPIVolumeFile, which names the list and not the item."""
    target = item.get("path", "")
    if not target:
        errors = [fielderrors.required(f"{path}.path")]
    else:
        errors = checks.unreserved(target, f"{path}.path")
    reference, resource = item.get("fieldRef"), item.get("resourceFieldRef")
    if reference is not None:
        errors += fieldrefs.field(reference, f"{path}.fieldRef", fieldrefs.IN_VOLUMES)
        if resource is not None:
            why = "fieldRef and resourceFieldRef can not be specified simultaneously"
            errors.append(fielderrors.invalid(path, "resource", why))
    elif resource is not None:
        errors += fieldrefs.resource(resource, f"{path}.resourceFieldRef", volume=True)
    else:
        why = "one of fieldRef and resourceFieldRef is required"
        errors.append(fielderrors.required(path, why))
    return errors + mode(item, path, "mode")


def _projected(source: Object, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    for index, one in enumerate(source.get("sources") or []):
        place = f"{path}.sources[{index}]"
        given = [kind for kind in one if one[kind] is not None]
        for extra in given[1:]:
            why = "may not specify more than 1 volume type per source"
            errors.append(fielderrors.forbidden(f"{place}.{extra}", why))
        for kind in given[:1]:
            inner = f"{place}.{kind}"
            if kind in ("secret", "configMap"):
                if not one[kind].get("name"):
                    errors.append(fielderrors.required(f"{inner}.name"))
                errors += items(one[kind], inner)
            elif kind == "downwardAPI":
                errors += _downward(one[kind], inner)
            elif kind == "serviceAccountToken":
                errors += _token(one[kind], inner)
        if not given:
            errors.append(fielderrors.required(place, "must specify a volume type"))
    return errors


def _token(source: Object, path: str) -> list[FieldError]:
    seconds = source.get("expirationSeconds", 0)
    errors = []
    if seconds < _MIN_EXPIRATION:
        why = "may not specify a duration less than 10 minutes"
        errors.append(fielderrors.invalid(f"{path}.expirationSeconds", seconds, why))
    if seconds > _MAX_EXPIRATION:
        why = "may not specify a duration larger than 2^32 seconds"
        errors.append(fielderrors.invalid(f"{path}.expirationSeconds", seconds, why))
    if not source.get("path"):
        return [*errors, fielderrors.required(f"{path}.path")]
    return errors + checks.unreserved(source["path"], f"{path}.path")
