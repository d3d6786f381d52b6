"""Bodies of built-in kinds: decoded by the kind's Go type, or refused as kube-apiserver does.

The pipeline calls it on every body and on every patched object; the decoding itself is `gotypes`'.
"""

from inkube.schemas import bodies, fielderrors, releases, status
from inkube.schemas.builtin import conversion, resources
from inkube.schemas.golang import DecodeError, gotext
from inkube.schemas.gotypes import Decoded, decoding, table, types
from inkube.schemas.meta import GVK, split_api_version
from inkube.schemas.objects import Object

__all__ = [
    "DecodeError", "Decoded", "check_type", "decode", "empty", "patch_refusal", "refusal", "zero",
]  # fmt: skip


_SCHEME = "k8s.io/kubernetes/pkg/api/legacyscheme/scheme.go:30"
_SCHEMES = {
    "apiextensions.k8s.io": "k8s.io/apiextensions-apiserver/pkg/apiserver/apiserver.go:55",
    "apiregistration.k8s.io": "k8s.io/kube-aggregator/pkg/apiserver/scheme/scheme.go:36",
}
"""Names of the reference's packages of types, as in its errors."""
_OLDER: dict[str, tuple[str, ...]] = {
    "admissionregistration.k8s.io": ("v1alpha1", "v1beta1"),
    "apiextensions.k8s.io": ("v1beta1",),
    "apiregistration.k8s.io": ("v1beta1",),
    "apps": ("v1beta1", "v1beta2"),
    "authentication.k8s.io": ("v1alpha1", "v1beta1"),
    "authorization.k8s.io": ("v1beta1",),
    "autoscaling": ("v1", "v2"),
    "batch": ("v1beta1",),
    "certificates.k8s.io": ("v1alpha1", "v1beta1"),
    "coordination.k8s.io": ("v1alpha2", "v1beta1"),
    "discovery.k8s.io": ("v1beta1",),
    "events.k8s.io": ("v1beta1",),
    "flowcontrol.apiserver.k8s.io": ("v1beta1", "v1beta2", "v1beta3"),
    "networking.k8s.io": ("v1beta1",),
    "node.k8s.io": ("v1alpha1", "v1beta1"),
    "policy": ("v1beta1",),
    "rbac.authorization.k8s.io": ("v1alpha1", "v1beta1"),
    "resource.k8s.io": ("v1alpha3", "v1beta1", "v1beta2"),
    "scheduling.k8s.io": ("v1alpha1", "v1beta1"),
    "storage.k8s.io": ("v1alpha1", "v1beta1"),
}
"""Versions that are no longer served, but are still in the reference's scheme."""
_UNVERSIONED = frozenset(("Status", "APIVersions", "APIGroup", "APIGroupList", "APIResourceList"))
"""Types that every scheme of the reference knows in any group and version."""
_OF_EVERY_VERSION = frozenset(
    f"{verb}Options" for verb in ("Create", "Delete", "Get", "List", "Patch", "Update")
) | {"WatchEvent"}
"""Types of meta/v1 that are registered in every version of a scheme (AddToGroupVersion)."""
_WITHOUT_COLLECTION = {
    ("", "v1"): frozenset(
        (
            "List", "PodStatusResult", "SerializedReference", "RangeAllocation", "PodAttachOptions",
            "PodLogOptions", "PodExecOptions", "PodPortForwardOptions", "PodProxyOptions",
            "ServiceProxyOptions", "NodeProxyOptions",
        )
    ),
    ("authentication.k8s.io", "v1"): frozenset(("TokenRequest",)),
    ("autoscaling", "v1"): frozenset(("Scale",)),
    ("policy", "v1"): frozenset(("Eviction",)),
}  # fmt: skip
"""Types of a version that are not the kind of a collection (register.go of each group)."""


def decode(obj: Object, gvk: GVK, minor: int = releases.NEWEST.minor) -> Decoded:
    """Return the object as its Go type stores it in a minor, and the paths of unknown fields. Does
    not change the input. Raises DecodeError."""
    name = table.table(minor).of(gvk)
    if name is None:
        raise LookupError(f"{gvk} is not a built-in kind")
    made, unknown, empties = decoding.decode(types.of(name, minor), obj)
    head: Object = {member: made[member] for member in ("apiVersion", "kind") if member in made}
    return Decoded({**head, **made}, unknown, empties)


def check_type(obj: Object, gvk: GVK, minor: int = releases.NEWEST.minor) -> None:
    """Refuse a body of another kind or version. Missing apiVersion and kind are set from the path,
    in place.

    Raises StatusError 400.
    """
    version, kind = obj.get("apiVersion") or gvk.api_version, obj.get("kind") or gvk.kind
    if problem := bodies.type_meta_problem({"apiVersion": version, "kind": kind}):
        raise status.bad_request(
            f"the object provided is unrecognized (must be of type {gvk.kind}): couldn't get "
            f"version/kind; json parse error: {problem}"
        )
    version = version.removeprefix("/")  # schema.ParseGroupVersion: that group is ""
    obj["apiVersion"], obj["kind"] = version, kind
    why = _other_type(obj, gvk, minor)
    if why:
        raise bodies.cannot_handle(version, kind, gvk.kind, why)
    if version != gvk.api_version:
        raise status.bad_request(
            f"the API version in the data ({version}) does not match the expected API version "
            f"({gvk.api_version})"
        )


def settle_patched_type(
    obj: Object, gvk: GVK, minor: int = releases.NEWEST.minor, *, scheme: str = ""
) -> list[str]:
    """Set apiVersion and kind of a patched object, and return the strict errors about them.
    `scheme` is what an error names, if not the scheme of the kind.

    An object without apiVersion has the internal type of its kind, whose members have other names.
    An object in another version is read in that version, and converted. Raises DecodeError for
    another kind or an unknown version.
    """
    bodies.check_type_meta(obj)
    is_internal = not obj.get("apiVersion")
    obj["apiVersion"], obj["kind"] = (
        obj.get("apiVersion") or gvk.api_version,
        obj.get("kind") or gvk.kind,
    )
    why = _other_type(obj, gvk, minor, scheme)
    if why:
        raise DecodeError(why)
    if obj["apiVersion"] != gvk.api_version:
        return _read_in_own_version(obj, gvk, minor)
    if not is_internal:
        return []
    unknown = sorted(obj.keys() - {"apiVersion", "kind"})
    for name in unknown:
        del obj[name]
    obj["metadata"] = {}
    return bodies.unknown_fields(unknown)


def _read_in_own_version(obj: Object, gvk: GVK, minor: int) -> list[str]:
    """Read an object in its own version, and convert it in place. Returns its unknown fields."""
    own = GVK.of(obj["apiVersion"], obj["kind"])
    unknown: list[str] = []
    if table.table(minor).of(own) is not None:  # types of versions that no minor serves are missing
        read, paths, _ = decode(obj, own, minor)
        unknown = bodies.unknown_fields(paths)
        obj.clear()
        obj.update(conversion.convert(read, gvk.api_version))
    obj["apiVersion"] = gvk.api_version
    return unknown


def _other_type(obj: Object, gvk: GVK, minor: int, scheme: str = "") -> str:
    """Return the error for a body that is not of the kind, in any of its versions; "" for one that
    is."""
    version, kind = obj["apiVersion"], obj["kind"]
    group, short = split_api_version(version)
    if kind == gvk.kind and version == gvk.api_version:
        return ""
    registered = _registered(group, short, kind, gvk.group, minor)
    if not registered:
        return (
            f"no kind {gotext.quote(kind)} is registered for version {gotext.quote(version)} in "
            f'scheme "{scheme or _SCHEMES.get(gvk.group, _SCHEME)}"'
        )
    if kind == gvk.kind:
        return ""
    try:
        if table.table(minor).of(GVK(group, short, kind)) is not None:
            decode(obj, GVK(group, short, kind), minor)
    except DecodeError as error:
        return str(error)
    package = gvk.group.partition(".")[0] or "core"
    return f"converting ({registered}.{kind}) to ({package}.{gvk.kind}): unknown conversion"


def _registered(group: str, version: str, kind: str, of_group: str, minor: int) -> str:
    """Return the version of the Go type that the scheme of the reference's server for `of_group`
    contains, served or not, or "" without such a type."""
    known = [
        found
        for found in resources.read(minor)
        if found.group == group and version in (*found.versions, *_OLDER.get(group, ()))
        if _SCHEMES.get(group) == _SCHEMES.get(of_group)
    ]
    is_version = bool(known) or (group, version) == ("", "v1")
    if kind in _UNVERSIONED or (is_version and kind in _OF_EVERY_VERSION):
        return "v1"
    is_found = bool(known) and kind in _WITHOUT_COLLECTION.get((group, version), ())
    is_found |= any(
        kind == found.kind or (kind == f"{found.kind}List" and "list" in found.verbs)
        for found in known
    )
    return version if is_found else ""


def empty(gvk: GVK, minor: int = releases.NEWEST.minor) -> Object:
    """Return the zero value of the kind, as Go encodes it."""
    name = table.table(minor).of(gvk)
    return {} if name is None else decoding.zero(types.of(name, minor))


def zero(gvk: GVK, member: str, minor: int = releases.NEWEST.minor) -> Object | None:
    """Return an empty struct member, such as the status, as Go encodes it, or None if Go omits
    it."""
    name = table.table(minor).of(gvk)
    known = types.of(name, minor).fields.get(member) if name else None
    return decoding.zero(known.type) if known is not None and known.value else None


def refusal(gvk: GVK, error: Exception | str) -> status.StatusError:
    """Return the error 400 for a POST or PUT whose body cannot be decoded."""
    return bodies.cannot_handle(gvk.api_version, gvk.kind, gvk.kind, str(error))


def patch_refusal(value: str, error: Exception | str) -> status.StatusError:
    """Return the error 422 for a patch whose result cannot be decoded. `value` is the patched JSON,
    or for a strategic patch `gotext.plain` of the patch."""
    return status.invalid("", "", "", [fielderrors.invalid("patch", value, str(error))])
