"""Irregular rules of a pod's volumes: sources, names of claims, addresses of disks."""

from collections.abc import Callable, Iterator

from inkube.schemas import fielderrors, quantity
from inkube.schemas.builtin.rules import compiler, formats
from inkube.schemas.builtin.rules.calls import core_containers, core_pods, core_references
from inkube.schemas.builtin.rules.frames import Frame, child
from inkube.schemas.fielderrors import FieldError
from inkube.schemas.metadata import names, objectmeta
from inkube.schemas.objects import Object

_LONGEST_PORTAL = 64
PORTAL = (
    "Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if "
    "iscsi.initiatorName is specified."
)
_PAIRS = "must be a host:port pair or multiple pairs separated by commas"
_TENANT = "must be a UUID and may not exceed a length of 64 characters"
_LONGEST_TENANT = 64
_DUPLICATE_PATHS = "conflicting duplicate paths"
_ONE_PER_SOURCE = "may not specify more than 1 volume type per source"
_SHORTEST_TOKEN, _LONGEST_TOKEN = 600, 1 << 32
_MANAGED = (
    "/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/"
    "{disk-id}"
)
_BLOB = "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd"
_NOT_IN_CLAIMS = (
    "name", "generateName", "namespace", "selfLink", "uid", "resourceVersion", "generation",
    "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "ownerReferences",
    "finalizers", "managedFields",
)  # fmt: skip
"""Members of metadata that the metadata of a claim template cannot have, in the struct's order."""


def empty_directory(volume: Object) -> None:
    """Make a volume without a source an empty directory, in place (SetDefaults_Volume)."""
    if volume.keys() <= {"name"}:
        volume["emptyDir"] = {}


def pull_policy(source: Object) -> str:
    """Return the default pull policy of a mounted image."""
    return core_containers.policy_of(source.get("reference", ""))


def name_once(value: str, path: str, frame: Frame) -> list[FieldError]:
    """Check that no earlier valid volume has the same name (ValidateVolumes)."""
    known = frame.up.facts.get("volumes", {}) if frame.up is not None else {}
    return [fielderrors.duplicate(path, value)] if value in known else []


def size_limit(value: str, path: str, _frame: Frame) -> list[FieldError]:
    """Check that the size is not negative. As upstream, the error is of the type Forbidden."""
    if quantity.parse(value).sign >= 0:
        return []
    return [fielderrors.forbidden(path, "SizeLimit field must be a valid resource quantity")]


def portal_length(value: Object, _path: str, frame: Frame) -> list[FieldError]:
    """Check the length of a volume's name and portal together, because initiators name their
    targets by both (validateVolumeSource)."""
    name = frame.obj.get("name", "")
    if fits_portal(name, value.get("targetPortal", "")):
        return []
    return [fielderrors.invalid(f"{frame.prefix}name", name, PORTAL)]


def fits_portal(name: str, portal: str) -> bool:
    """Return whether a volume's name and a portal together are short enough."""
    return len(f"{name}:{portal}".encode()) <= _LONGEST_PORTAL


def name_of_made_claim(_value: Object, _path: str, frame: Frame) -> list[FieldError]:
    """Check the name of the claim that is created for an ephemeral volume: it is composed of the
    names of pod and volume."""
    pod, name = _pod_name(frame), frame.obj.get("name", "")
    if not pod or not name:
        return []
    claim = f"{pod}-{name}"
    return [
        fielderrors.invalid(f"{frame.prefix}name", name, f'PVC name "{claim}": {why}')
        for why in names.subdomain(claim)
    ]


def not_made(value: Object, path: str, frame: Frame) -> list[FieldError]:
    """Check that a volume does not use a claim that is created for another volume of its pod."""
    claim = (value.get("persistentVolumeClaim") or {}).get("claimName")
    if not claim or claim not in _made_claims(frame):
        return []
    why = "must not reference a PVC that gets created for an ephemeral volume"
    return [fielderrors.invalid(f"{path}.persistentVolumeClaim.claimName", claim, why)]


def _made_claims(frame: Frame) -> frozenset[str]:
    """Return the names of the claims that are created for a pod's ephemeral volumes."""
    made: frozenset[str] | None = frame.facts.get("made claims")
    if made is None:
        pod = _pod_name(frame)
        made = frame.facts["made claims"] = frozenset(
            f"{pod}-{each.get('name', '')}"
            for each in frame.obj["volumes"]
            if pod and each.get("ephemeral") is not None
        )
    return made


def _pod_name(frame: Frame) -> str:
    """Return the name of a pod, or "" for a pod template."""
    pod = core_pods.pod_of(frame)
    return "" if pod is None else pod.obj["metadata"].get("name", "")


def authenticates(frame: Frame) -> bool:
    """Return whether an iSCSI volume authenticates itself with a secret."""
    return bool(frame.obj.get("chapAuthDiscovery") or frame.obj.get("chapAuthSession"))


def flocker(value: Object, path: str, _frame: Frame) -> list[FieldError]:
    """Check that exactly one of name and UUID is set (validateFlockerVolumeSource)."""
    name, uuid = value.get("datasetName"), value.get("datasetUUID")
    if not name and not uuid:
        return [fielderrors.required(path, "one of datasetName and datasetUUID is required")]
    if name and uuid:
        why = "datasetName and datasetUUID can not be specified simultaneously"
        return [fielderrors.invalid(path, "resource", why)]
    return []


def no_slash(value: str, path: str, _frame: Frame) -> list[FieldError]:
    """Check that the name of a data set contains no slash."""
    return [fielderrors.invalid(path, value, "must not contain '/'")] if "/" in value else []


def quobyte(value: Object, path: str, _frame: Frame) -> list[FieldError]:
    """Check the registries and the tenant (validateQuobyteVolumeSource)."""
    registry = value.get("registry", "")
    if not registry:
        return [fielderrors.required(f"{path}.registry", _PAIRS)]
    if len(value.get("tenant", "").encode()) > _LONGEST_TENANT:
        return [fielderrors.required(f"{path}.tenant", _TENANT)]
    wrong = [pair for pair in registry.split(",") if not _is_pair(pair)]
    return [fielderrors.invalid(f"{path}.registry", registry, _PAIRS) for _ in wrong]


def _is_pair(text: str) -> bool:
    """Return whether net.SplitHostPort accepts a text."""
    host, colon, _ = text.rpartition(":")
    if host.startswith("["):
        return bool(colon) and host.endswith("]") and "[" not in host[1:]
    return bool(colon) and not set(host) & set(":[]")


def unreserved_option(value: str, path: str, _frame: Frame) -> list[FieldError]:
    """Check that the options of a flex volume are not in the namespaces of Kubernetes."""
    namespace = f".{value.partition('/')[0].lower()}"
    if not namespace.endswith((".kubernetes.io", ".k8s.io")):
        return []
    why = "kubernetes.io and k8s.io namespaces are reserved"
    return [fielderrors.invalid(path, value, why)]


def disk_address(value: str, path: str, frame: Frame) -> list[FieldError]:
    """Check the address, whose form is different for managed disks and blobs
    (validateAzureDisk)."""
    kind = frame.obj.get("kind")
    if kind is None:
        return []
    start, form = ("/subscriptions/", _MANAGED) if kind == "Managed" else ("https://", _BLOB)
    if value.startswith(start):
        return []
    return [fielderrors.not_supported(path, value, (form,))]


def claim_metadata(value: Object, path: str, _frame: Frame) -> Iterator[FieldError]:
    """Check labels and annotations, and refuse all other members (ValidateTemplateObjectMeta)."""
    yield from objectmeta.annotation_errors(value.get("annotations") or {}, f"{path}.annotations")
    yield from objectmeta.label_errors(value.get("labels") or {}, f"{path}.labels")
    for member in _NOT_IN_CLAIMS:
        given = value.get(member)
        if given or (given == 0 and member == "deletionGracePeriodSeconds"):
            shown = "uID" if member == "uid" else member  # from the name of the Go field
            yield fielderrors.forbidden(f"{path}.{shown}", "cannot be set")


def downward_source(value: Object, path: str, frame: Frame) -> list[FieldError]:
    """Check that exactly one of the two references is set (validateDownwardAPIVolumeFile)."""
    field, resource = value.get("fieldRef"), value.get("resourceFieldRef")
    if field is not None:
        errors = core_references.field(field, f"{path}.fieldRef", core_references.IN_VOLUMES)
        if resource is not None:
            why = "fieldRef and resourceFieldRef can not be specified simultaneously"
            errors.append(fielderrors.invalid(path, "resource", why))
        return errors
    if resource is not None:
        return core_references.resource(resource, f"{path}.resourceFieldRef", volume=True)
    return [fielderrors.required(path, "one of fieldRef and resourceFieldRef is required")]


def projection(value: Object, path: str, frame: Frame) -> list[FieldError]:
    """Check one source of validateProjectionSources. The paths of all sources must be different."""
    errors: list[FieldError] = []
    taken: set[str] = frame.facts.setdefault("paths", set())
    for member in ("secret", "configMap"):
        if value.get(member) is not None:
            errors += _projected_keys(value[member], f"{path}.{member}", frame, taken)
    if value.get("downwardAPI") is not None:
        errors += _projected_fields(value["downwardAPI"], f"{path}.downwardAPI", frame, taken)
    if value.get("serviceAccountToken") is not None:
        errors += _projected_token(value["serviceAccountToken"], path, frame)
    if sum(1 for given in value.values() if given is not None) > 1:
        errors.append(fielderrors.forbidden(path, _ONE_PER_SOURCE))
    return errors


def _projected_keys(source: Object, path: str, frame: Frame, taken: set[str]) -> list[FieldError]:
    name = source.get("name", "")
    errors = [] if name else [fielderrors.required(f"{path}.name")]
    rules = compiler.rules("core.v1.KeyToPath")
    for index, item in enumerate(source.get("items") or ()):
        errors += rules.run(child(item, f"{path}.items[{index}].", None, frame))
        errors += _taken(item, name, frame, taken)
    return errors


def _projected_fields(source: Object, path: str, frame: Frame, taken: set[str]) -> list[FieldError]:
    errors: list[FieldError] = []
    rules = compiler.rules("core.v1.DownwardAPIVolumeFile")
    for item in source.get("items") or ():
        errors += rules.run(child(item, f"{path}.", None, frame))
        errors += _taken(item, item.get("path", ""), frame, taken)
    return errors


def _taken(item: Object, shown: str, frame: Frame, taken: set[str]) -> list[FieldError]:
    target = item.get("path", "")
    if not target:
        return []
    if target in taken:
        return [fielderrors.invalid(frame.path, shown, _DUPLICATE_PATHS)]
    taken.add(target)
    return []


def _projected_token(source: Object, path: str, frame: Frame) -> list[FieldError]:
    """Check a projected token. As upstream, an error about its path names the volume, not the
    source."""
    seconds, place = source.get("expirationSeconds", 0), f"{path}.serviceAccountToken"
    errors = []
    if seconds < _SHORTEST_TOKEN:
        why = "may not specify a duration less than 10 minutes"
        errors.append(fielderrors.invalid(f"{place}.expirationSeconds", seconds, why))
    if seconds > _LONGEST_TOKEN:
        why = "may not specify a duration larger than 2^32 seconds"
        errors.append(fielderrors.invalid(f"{place}.expirationSeconds", seconds, why))
    target = source.get("path", "")
    if not target:
        return [*errors, fielderrors.required(f"{frame.prefix}path")]
    problems = formats.FORMATS["local-path"](target)
    return errors + [fielderrors.invalid(f"{frame.prefix}path", target, why) for why in problems]


def image_volumes(spec: Object, old: Object | None) -> None:
    """Remove image volumes, the mounts that use them, and lists without items
    (dropImageVolumes)."""
    if any(each.get("image") for each in (old or {}).get("volumes") or ()):
        return
    volumes = spec.get("volumes") or []
    gone = {each.get("name") for each in volumes if each.get("image") is not None}
    _keep(spec, "volumes", lambda each: each.get("image") is None)
    for kind in ("containers", "initContainers", "ephemeralContainers"):
        for container in spec.get(kind) or ():
            _keep(container, "volumeMounts", lambda each: each.get("name") not in gone)


def _keep(owner: Object, member: str, is_kept: Callable[[Object], bool]) -> None:
    """Keep the items of a list that `is_kept` accepts, and remove an empty list."""
    kept = [each for each in owner.get(member) or () if is_kept(each)]
    if kept:
        owner[member] = kept
    else:
        owner.pop(member, None)
