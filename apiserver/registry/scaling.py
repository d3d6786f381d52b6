"""Changes of an object through its Scale: for `/scale` and for the in-process client.

An update makes the Scale of the object, changes and checks it, and copies its replicas, its
resourceVersion and uid, and its ownership back to the object. Follows
apiextensions-apiserver/pkg/registry/customresource/etcd.go (ScaleREST).
"""

import copy

from inkube.apiserver.registry import intake, ownership, patched, scales
from inkube.apiserver.registry.apply import report_repeated
from inkube.apiserver.registry.changes import Update
from inkube.apiserver.registry.patches import KINDS, MergePatch, StrategicPatch
from inkube.apiserver.registry.requests import Patch, Request
from inkube.apiserver.registry.scales import SCALE
from inkube.apiserver.registry.write import Write
from inkube.schemas import bodies, builtin, caches, status
from inkube.schemas.builtin import decoding as builtin_decoding
from inkube.schemas.gotypes import table
from inkube.schemas.objects import Object
from inkube.schemas.ownership import TypedSchema, managedfields, scalefields
from inkube.schemas.ownership import apply as apply_rules

UNREGISTERED = (
    "no kind is registered for the type v1.Scale in scheme "
    '"k8s.io/apiextensions-apiserver/pkg/apiserver/customresource_handler.go:781"'
)

_SCHEME = "k8s.io/client-go/scale/util.go:146"
"""The scheme that decodes the Scales of custom resources, as in errors."""


@caches.of_values(1)
def _typed() -> TypedSchema:
    """Return the schema for the ownership of a Scale's fields."""
    return TypedSchema(table.schema(SCALE), custom=False)


class Scale(Update):
    """Base of the changes of a Scale. They record the owners of the replicas themselves, and start
    again whatever version they name, because the Scale is made again."""

    __slots__ = ()
    sets_undeclared = True  # the path of the replicas need not be declared

    def __init__(self, size: int = 0) -> None:
        super().__init__(size, names_version=False, reads_version=True)

    def compute(self, write: Write) -> Object:
        """Return the object with the Scale's replicas, resourceVersion, uid and owners."""
        assert write.old is not None, "a scale never creates"
        owned = scales.to_scale(write.request, write.old, with_ownership=True)
        if scales.has_no_replicas(write.request, write.old):
            owned["spec"] = {"replicas": _MISSING}
        scale = self.scaled(write, owned)
        write.owners = "recorded"
        return _carried_back(write, scale)

    def scaled(self, write: Write, owned: Object) -> Object:
        """Return the changed Scale, with its owners. `owned` is the Scale before the change."""
        scale = self.changed(write, owned)
        _check(write, scale)
        scale.setdefault("metadata", {}).pop("managedFields", None)
        writer = ownership.writer(write, kind=SCALE)
        managedfields.track_update(owned, scale, typed=_typed(), writer=writer)
        return scale

    def changed(self, write: Write, owned: Object) -> Object:
        """Return the changed Scale. Must not change `owned`."""
        raise NotImplementedError


class PutScale(Scale):
    """Replaces the Scale. Raises StatusError 400 if the body is not a Scale."""

    __slots__ = ("_scale",)

    def __init__(self, request: Request, scale: Object, size: int = 0) -> None:
        super().__init__(size)
        self._scale = scale
        needs_replicas = request.resource.wording.scale_needs_replicas
        try:
            found = builtin_decoding.decode(scale, SCALE)
        except builtin_decoding.DecodeError as error:
            # for custom resources, the reference's error does not name the type
            if needs_replicas:
                raise status.bad_request(UNREGISTERED) from error
            raise builtin_decoding.refusal(SCALE, error) from error
        if found.unknown and needs_replicas and request.options.validation == "Strict":
            raise status.bad_request(UNREGISTERED)
        intake.report_unknown(request, SCALE, bodies.unknown_fields(found.unknown))

    def changed(self, write: Write, owned: Object) -> Object:
        return decoded(self._scale)


class PatchScale(Scale):
    """Applies a JSON, merge or strategic merge patch to the Scale."""

    __slots__ = ("_patch",)

    def __init__(self, patch: MergePatch, size: int = 0) -> None:
        super().__init__(size)
        self._patch = patch

    def changed(self, write: Write, owned: Object) -> Object:
        request = write.request
        new, of_patch = self._patch.applied(request, copy.deepcopy(owned))
        if not isinstance(new, dict):
            raise patched.no_object(new)

        def refusal(why: str) -> status.StatusError:
            again, _ = self._patch.applied(request, owned)
            text = self._patch.text(request, owned, again, SCALE)
            return builtin_decoding.patch_refusal(text, why)

        texts = bodies.unknown_fields
        try:
            if isinstance(self._patch, StrategicPatch):
                texts = bodies.unquoted_unknown_fields
                if why := builtin.unstructured.trouble(new, SCALE):
                    raise refusal(why)
            elif new.get("apiVersion") or request.resource.wording.has_messages:
                scheme = _SCHEME if request.resource.wording.scale_needs_replicas else ""
                builtin_decoding.settle_patched_type(new, SCALE, scheme=scheme)
            found = builtin_decoding.decode(new, SCALE)
        except builtin_decoding.DecodeError as error:
            raise refusal(str(error)) from error
        # the patched document is encoded again, with sorted members
        unknown = [*self._patch.strict(of_patch), *sorted(texts(found.unknown))]
        if request.options.validation == "Strict" and unknown:
            raise refusal(bodies.strict_text(unknown))
        intake.report_unknown(request, SCALE, unknown)
        _check_identity(request, found.object)
        return found.object


class ApplyScale(Scale):
    """Server-side apply of a Scale."""

    __slots__ = ("_body", "_duplicates")
    keeps_owners = True

    def __init__(self, patch: Patch) -> None:
        super().__init__(patch.size)
        self._body: Object = patch.value
        self._duplicates = patch.duplicates

    def scaled(self, write: Write, owned: Object) -> Object:
        converts = write.request.resource.wording.applies_scales
        head = (self._body.get("apiVersion"), self._body.get("kind"))
        if not converts and not owned["metadata"].get("managedFields") and head == _HEAD:
            lead = "failed to create manager for existing fields: failed to convert live object"
            raise _not_converted(lead, {"apiVersion": SCALE.api_version, "kind": SCALE.kind})
        writer = ownership.writer(write, kind=SCALE)
        force = write.request.options.force
        scale = apply_rules.apply(owned, self._body, typed=_typed(), writer=writer, force=force)
        if not converts and managedfields.bare(scale) != managedfields.bare(owned):
            raise _not_converted("failed to convert new object", self._body)
        report_repeated(write, self._duplicates)
        _check_identity(write.request, scale)
        _check(write, scale)
        return scale


def of(kind: str, patch: Patch) -> Scale:
    """Return the change of a `json`, `merge`, `strategic` or `apply` patch of a Scale."""
    if kind == "apply":
        return ApplyScale(patch)
    return PatchScale(KINDS[kind](patch), patch.size)


def decoded(scale: Object) -> Object:
    """Return the Scale as decoded into its Go type. Raises StatusError 400."""
    try:
        return builtin_decoding.decode(scale, SCALE).object
    except builtin_decoding.DecodeError as error:
        raise builtin_decoding.refusal(SCALE, error) from error


def _check_identity(request: Request, scale: Object) -> None:
    """Raise StatusError 400 if a patch changed the name or the namespace."""
    intake.check_namespace(request, scale)
    intake.check_name(request, scale)


def _not_converted(lead: str, scale: Object) -> status.StatusError:
    """Return the error 500 of apiextensions-apiserver, whose converter of versions does not know
    the Scale of a custom resource. An apply that changes nothing converts nothing."""
    return status.unknown(
        f"{lead} ({apply_rules.where(scale)}) to proper version: request to convert CR to an "
        f"invalid group/version: {SCALE.api_version}"
    )


_HEAD = (SCALE.api_version, SCALE.kind)
_MISSING = -(2**31)
"""The replicas of an object without replicas, while its Scale is changed (invalidSpecReplicas): to
set none removes them from their owners."""


def _check(write: Write, scale: Object) -> None:
    """Refuse negative replicas. Raises StatusError 422, or 400 if a patch sets no replicas and the
    object has none."""
    replicas = (scale.get("spec") or {}).get("replicas", 0)
    if replicas >= 0:
        return
    request = write.request
    if replicas == _MISSING and request.resource.wording.scale_needs_replicas:
        path = scales.paths_of(request).spec_replicas
        raise status.bad_request(f'the spec replicas field "{path}" cannot be empty')
    raise request.resource.wording.negative_replicas(request.served, request.name, replicas)


def _carried_back(write: Write, scale: Object) -> Object:
    """Return a copy of the object with the Scale's replicas, resourceVersion, uid and owners."""
    request, obj = write.request, write.copy_of_old()
    scales.set_replicas(request, obj, (scale.get("spec") or {}).get("replicas", 0))
    meta = scale.get("metadata") or {}
    _carry_uid(write, obj, meta.get("uid"))
    obj["metadata"].pop("resourceVersion", None)
    if meta.get("resourceVersion"):
        obj["metadata"]["resourceVersion"] = meta["resourceVersion"]
    owners = scalefields.of_parent(
        obj["metadata"].pop("managedFields", None),
        meta.get("managedFields"),
        paths=scales.paths_of_versions(request.resource),
        version=request.served.api_version,
    )
    if owners:
        obj["metadata"]["managedFields"] = owners
    return obj


def _carry_uid(write: Write, obj: Object, uid: str | None) -> None:
    """Copy the uid of a Scale that replaces another to the object, where the store checks it.

    A patch is checked here, and only for built-in kinds. Raises StatusError 409.
    """
    request, current = write.request, obj["metadata"]["uid"]
    if not uid or uid == current:
        return
    if request.verb == "update":
        obj["metadata"]["uid"] = uid
    elif not request.resource.wording.scale_needs_replicas:
        place = (request.resource.group, f"{request.resource.plural}/scale", write.name)
        raise status.conflict(*place, status.precondition_text("UID", uid, current))
