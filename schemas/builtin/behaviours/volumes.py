"""What is wrong with a pod's volumes. Follows core validation ValidateVolumes."""

from inkube.schemas import fielderrors
from inkube.schemas.builtin.behaviours import checks, naming
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
    "glusterfs": ("endpoints", "path"),
    "hostPath": ("path",),
    "iscsi": ("targetPortal", "iqn"),
    "nfs": ("server", "path"),
    "persistentVolumeClaim": ("claimName",),
    "rbd": ("monitors", "image"),
    "secret": ("secretName",),
}


def validate(volumes: list[Object], path: str) -> list[FieldError]:
    """Names, one source each, and what the common sources demand."""
    places = [f"{path}[{index}]" for index in range(len(volumes))]
    errors = []
    for volume, place in zip(volumes, places, strict=True):
        name = volume.get("name", "")
        if not name:
            errors.append(fielderrors.required(f"{place}.name"))
        else:
            errors += checks.named(name, f"{place}.name", naming.label)
        errors += _sources(volume, place)
    names = [volume.get("name") for volume in volumes]
    return errors + checks.duplicates(names, [f"{place}.name" for place in places])


def _sources(volume: Object, path: str) -> list[FieldError]:
    sources = [member for member in volume if member != "name"]
    errors = [
        fielderrors.forbidden(f"{path}.{source}", "may not specify more than 1 volume type")
        for source in sources[1:]
    ]
    for source in sources[:1]:
        errors += [
            fielderrors.required(f"{path}.{source}.{member}")
            for member in _REQUIRED.get(source, ())
            if not volume[source].get(member)
        ]
        errors += _items(volume[source], f"{path}.{source}")
        if source == "hostPath" and ".." in volume[source].get("path", "").split("/"):
            given = volume[source]["path"]
            why = "must not contain '..'"
            errors.append(fielderrors.invalid(f"{path}.hostPath.path", given, why))
    return errors


def _items(source: Object, path: str) -> list[FieldError]:
    errors = []
    for index, item in enumerate(source.get("items") or []):
        place = f"{path}.items[{index}]"
        if "key" in item and not item["key"]:
            errors.append(fielderrors.required(f"{place}.key"))
        target = item.get("path", "")
        if not target:
            errors.append(fielderrors.required(f"{place}.path"))
        elif target.startswith("/"):
            errors.append(fielderrors.invalid(f"{place}.path", target, "must be a relative path"))
        elif ".." in target.split("/"):
            errors.append(fielderrors.invalid(f"{place}.path", target, "must not contain '..'"))
    return errors
