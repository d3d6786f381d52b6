"""What webhooks and policies see of a write: its kind, names, versions and options.

Both have the same view. Follows admission.Attributes, handlers/create.go and
plugin/webhook/generic/conversion.go.
"""

from collections.abc import Sequence

from inkube.apiserver.registry import conversions, scales
from inkube.apiserver.registry.requests import DeleteOptions, Request
from inkube.apiserver.registry.write import Write
from inkube.schemas import status
from inkube.schemas.meta import GVK
from inkube.schemas.objects import Object
from inkube.schemas.served import Served

_KINDS = {"CREATE": "CreateOptions", "UPDATE": "UpdateOptions", "DELETE": "DeleteOptions"}


def kind(write: Write) -> GVK:
    """Return the kind of the object, which can be the own kind of a subresource."""
    request, obj = write.request, write.object
    if is_scale(request):
        return scales.SCALE
    if not request.subresource or obj is None or obj.get("kind") == request.served.kind:
        return request.served.gvk
    return GVK.of(obj.get("apiVersion", ""), obj.get("kind", ""))


def name(write: Write) -> str:
    """Return the name of the object; "" if the request deletes a collection."""
    return "" if write.request.in_collection else write.name


def namespace(write: Write) -> str:
    """Return the namespace. That of a Namespace is its own name."""
    return write.name if write.request.resource.is_namespaces else write.request.namespace


def equivalents(request: Request) -> Sequence[Served]:
    """Return all served versions of the objects of a request, its own first. Events have some in
    two groups."""
    resource = request.resource
    others = (
        each
        for each in (*resource.versions.values(), *resource.also)
        if each.version.served and each is not request.served
    )
    return (request.served, *others)


def is_scale(request: Request) -> bool:
    """Return whether a request is about the Scale of an object."""
    return request.subresource == "scale"


def selectable(write: Write) -> tuple[Object, ...]:
    """Return the new and the old object, as far as they exist, for the selectors of objects. Those
    of a Scale have no labels."""
    if is_scale(write.request):
        return ({"metadata": {}},)
    return tuple(obj for obj in (write.object, write.old) if obj is not None)


async def view(write: Write, obj: Object | None, served: Served) -> Object | None:
    """Return the new or the old object of a write in an equivalent version, as a Scale if the
    request is about one."""
    request = write.request
    if obj is None:
        return None
    if is_scale(request):
        return scales.to_scale(request, obj, with_ownership=True)
    if served is request.served:
        return obj
    return await conversions.in_version(request.resource, obj, served)


async def put(write: Write, changed: Object, served: Served) -> None:
    """Replace the new object of a write by a decoded and changed view of it. Raises StatusError
    500 if a Scale has no valid replicas."""
    request, obj = write.request, write.new
    if is_scale(request):
        scales.set_replicas(request, obj, _replicas(changed))
        return
    if served is not request.served and kind(write) == request.served.gvk:
        changed = await conversions.in_version(request.resource, changed, request.served)
    obj.clear()
    obj.update(changed)


def _replicas(scale: Object) -> int:
    replicas = (scale.get("spec") or {}).get("replicas") or 0
    if type(replicas) is not int:
        raise status.internal_error(
            "json: cannot unmarshal value into Go struct field ScaleSpec.spec.replicas"
        )
    return replicas


def options(write: Write) -> Object | None:
    """Return the options of the request as an object: CreateOptions, UpdateOptions or
    DeleteOptions; None for an operation without options (CONNECT)."""
    of_operation = _KINDS.get(write.operation)
    if of_operation is None:
        return None
    made: Object = {"kind": of_operation, "apiVersion": "meta.k8s.io/v1"}
    if isinstance(write.options, DeleteOptions):
        made |= _delete_options(write.options)
    if write.dry_run:
        made["dryRun"] = ["All"]
    of_request = write.request.options
    if write.operation != "DELETE":
        if of_request.field_manager:
            made["fieldManager"] = of_request.field_manager
        if of_request.told_validation:
            made["fieldValidation"] = of_request.told_validation
    return made


def _delete_options(options: DeleteOptions) -> Object:
    preconditions = {"uid": options.uid, "resourceVersion": options.resource_version}
    found: Object = {
        "gracePeriodSeconds": options.grace,
        "preconditions": {k: v for k, v in preconditions.items() if v is not None}
        if options.preconditioned
        else None,
        "orphanDependents": options.orphan,
        "propagationPolicy": options.propagation,
    }
    return {key: value for key, value in found.items() if value is not None}
