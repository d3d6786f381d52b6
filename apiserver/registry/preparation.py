"""The server's own changes to an object before it is stored: names, system fields, versions.

This module calls the kind's own preparation and every validation. Follows
apiserver/pkg/registry/rest/create.go (BeforeCreate) and update.go (BeforeUpdate);
`create` and `update` call it.
"""

from typing import Any

from inkube.apiserver.registry import failures
from inkube.apiserver.registry.requests import Request
from inkube.apiserver.registry.write import Write
from inkube.schemas import empties, fielderrors, status
from inkube.schemas.definitions import Definition
from inkube.schemas.fielderrors import FieldError
from inkube.schemas.golang import strconv
from inkube.schemas.objects import Object
from inkube.schemas.strategy import Context

_OF_DELETION = frozenset({"deletionTimestamp", "deletionGracePeriodSeconds"})
"""Members of metadata that a new object does not keep."""


def metadata(obj: Object) -> Object:
    """Return the object's metadata. Adds empty metadata if it is missing."""
    meta: Object | None = obj.get("metadata")
    if meta is None:
        meta = obj["metadata"] = {}
    return meta


def give_name(write: Write) -> None:
    """Give an object without a name the name that its kind computes or generates.

    Runs before admission, so plugins see the name.
    """
    obj, strategy = write.new, write.request.resource.strategy
    meta = obj["metadata"]
    if not meta.get("name"):
        computed = strategy.compute_name(obj)
        if computed and not meta.get("generateName"):
            meta["name"] = computed
    if not meta.get("name"):
        prefix = meta.get("generateName") or strategy.name_prefix(obj)
        if prefix and isinstance(prefix, str):
            meta["name"] = write.engine.system_fields.generate_name(prefix)
            write.generated_prefix = prefix
    write.give_name(meta.get("name") or "")


def before_create(write: Write) -> None:
    """Set the system fields of a new object, prepare and validate it. Raises StatusError 422."""
    request, obj, system_fields = write.request, write.new, write.engine.system_fields
    resource, meta, time = request.resource, obj["metadata"], system_fields.timestamp()
    strategy = resource.strategy
    meta.pop("selfLink", None)
    _set_namespace(request, meta)
    meta["uid"] = system_fields.uid()
    meta["creationTimestamp"] = time
    if resource.definition.named_by_uid and not meta.get("name"):
        meta["name"] = system_fields.uid()
    write.give_name(meta.get("name") or "")
    context = _context(write, "", time)
    restored = empties.show(obj, write.empties)
    strategy.prepare_for_create(context, obj)
    errors = strategy.validate(context, obj)
    warnings = [] if errors else strategy.warnings_on_create(context, obj)
    _finish(write, restored, errors, warnings)


def before_update(write: Write) -> None:
    """Copy the system fields from the old object, then prepare and validate the new one.

    Raises StatusError 409 if the object names another version than the stored one, and 422.
    """
    request, obj, old = write.request, write.new, write.old
    assert old is not None, "an update has an old object"
    _check_version(write)
    meta, before = obj["metadata"], old["metadata"]
    meta["creationTimestamp"] = before["creationTimestamp"]
    if "deletionTimestamp" in before:
        meta["deletionTimestamp"] = before["deletionTimestamp"]
    grace = before.get("deletionGracePeriodSeconds")
    if grace is not None and meta.get("deletionGracePeriodSeconds") is None:
        meta["deletionGracePeriodSeconds"] = grace
    meta.setdefault("uid", before["uid"])
    if not meta["uid"]:
        meta["uid"] = before["uid"]
    if "generation" in before:
        meta["generation"] = before["generation"]
    else:
        meta.pop("generation", None)
    _set_namespace(request, meta)
    strategy = request.resource.strategy
    context = _context(write, request.subresource, write.engine.system_fields.timestamp())
    restored = empties.show(obj, write.empties)
    strategy.prepare_for_update(context, obj, old)
    errors = strategy.validate_update(context, obj, old)
    warnings = [] if errors else strategy.warnings_on_update(context, obj, old)
    _finish(write, restored, errors, warnings)


def _context(write: Write, subresource: str, time: str) -> Context:
    request = write.request
    return Context(request.served, time, subresource, request.user, write.warn, write.reservation)


def _finish(
    write: Write, restored: empties.Restored, errors: list[FieldError], warnings: list[str]
) -> None:
    """Hide the empty members again, and refuse the object or bring it into its stored form. Raises
    StatusError 422."""
    obj, resource = write.new, write.request.resource
    try:
        if errors:  # their texts show the empty members
            name = obj["metadata"].get("name") or ""  # a webhook may have changed it
            kind = obj.get("kind") or resource.kind  # a custom resource may contain a wrong one
            raise status.invalid(_error_group(resource.definition), kind, name, errors)
    finally:
        empties.hide(obj, restored)
    for warning in resource.wording.warnings(warnings):
        write.warn(warning)
    resource.strategy.canonicalize(obj)


def wipe(obj: Object) -> None:
    """Remove the fields of a deletion from the body of a POST. Objects that an update or an apply
    creates keep them (WipeObjectMetaSystemFields, which only handlers/create.go calls)."""
    meta = metadata(obj)
    for member in _OF_DELETION & meta.keys():
        del meta[member]


def begin_new(write: Write) -> None:
    """Give an object that an update creates the form that a create accepts. Raises StatusError 409
    if it names a uid."""
    request, meta = write.request, metadata(write.new)
    if meta.get("uid"):
        raise wrong_uid(request, meta["uid"], "")
    _parse_version(meta.get("resourceVersion"))
    write.store.strip(write.new)
    if request.resource.namespaced:
        meta["namespace"] = request.namespace


def _error_group(definition: Definition) -> str:
    own = definition.error_group
    return definition.group if own is None else own


def _set_namespace(request: Request, meta: Object) -> None:
    if request.resource.namespaced:
        meta["namespace"] = request.namespace
    else:
        meta.pop("namespace", None)


def _check_version(write: Write) -> None:
    """Check resourceVersion and uid against the stored object. A kind can allow updates without a
    version. Raises StatusError."""
    request, entry, meta = write.request, write.stored, metadata(write.new)
    resource = request.resource
    version = _parse_version(meta.get("resourceVersion"))
    uid = meta.get("uid")
    current = entry.value["metadata"]["uid"]
    if uid and uid != current and request.verb == "update":
        raise wrong_uid(request, uid, current)  # a precondition, checked before the version
    if version == 0:
        if not _unconditional(request):
            versionless = resource.definition.versionless
            if versionless is not None:
                raise versionless(request.name)
            error = fielderrors.invalid(
                "metadata.resourceVersion", 0, "must be specified for an update"
            )
            raise status.invalid(resource.group, resource.plural, request.name, [error])
        meta["resourceVersion"] = str(entry.revision)
    elif version != entry.revision:
        raise failures.stale(request)


def _parse_version(text: Any) -> int:
    """Parse the resourceVersion of a body: 0 if it is missing, "" or "0". Raises StatusError 500,
    as upstream."""
    if not text:
        return 0
    try:
        return strconv.parse_uint(str(text))
    except ValueError as error:
        raise status.unknown(str(error)) from error


def _unconditional(request: Request) -> bool:
    definition = request.resource.definition
    relaxed = definition.relaxed_subresources or not request.subresource
    allowed = definition.unconditional_update and relaxed
    return allowed or request.subresource == "scale"


def wrong_uid(request: Request, uid: str, current: str) -> status.StatusError:
    """Return the error for an object whose uid differs from the stored uid. `current` is "" if no
    object is stored."""
    resource = request.resource
    place = (resource.group, resource.plural, request.name)
    return status.precondition_failed(place, request.checked_key, "UID", uid, current)
