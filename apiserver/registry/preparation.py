"""The server's own changes to an object before it is stored: names, system fields, versions.

This module calls the kind's own preparation and every validation. Follows
apiserver/pkg/registry/rest/create.go (BeforeCreate) and update.go (BeforeUpdate);
`create`, `update` and `registry` call it.
"""

from typing import Any

from inkube.apiserver.registry.calls import Call
from inkube.apiserver.registry.requests import WriteRequest
from inkube.apiserver.registry.systemfields import SystemFields
from inkube.schemas import empties, fielderrors, status
from inkube.schemas.definitions import Definition
from inkube.schemas.golang import strconv
from inkube.schemas.objects import Object
from inkube.schemas.strategy import Context
from inkube.storage import Entry

NOT_AT_FIRST = frozenset({"deletionTimestamp", "deletionGracePeriodSeconds", "selfLink"})
"""Members of metadata that a new object does not keep."""


def metadata(obj: Object) -> Object:
    """Return the object's metadata. Adds empty metadata if it is missing."""
    meta: Object | None = obj.get("metadata")
    if meta is None:
        meta = obj["metadata"] = {}
    return meta


def give_name(call: Call, obj: Object, system_fields: SystemFields) -> None:
    """Give an object without a name the name that its kind computes or generates.

    Runs before admission, so plugins see the name.
    """
    meta = obj["metadata"]
    if not meta.get("name"):
        computed = call.resource.strategy.compute_name(obj)
        if computed and not meta.get("generateName"):
            meta["name"] = computed
    if not meta.get("name"):
        prefix = meta.get("generateName") or call.resource.strategy.name_prefix(obj)
        if prefix and isinstance(prefix, str):
            meta["name"] = system_fields.generate_name(prefix)
            call.generated_prefix = prefix
    call.name = meta.get("name") or ""


def before_create(write: WriteRequest, system_fields: SystemFields) -> None:
    """Set the system fields of a new object, prepare and validate it. Raises StatusError 422."""
    call, obj, time = write.call, write.object, system_fields.timestamp()
    assert obj is not None, "a create has an object"
    resource, meta = call.resource, obj["metadata"]
    strategy = resource.strategy
    for member in NOT_AT_FIRST & meta.keys():
        del meta[member]
    _set_namespace(call, meta)
    meta["uid"] = system_fields.uid()
    meta["creationTimestamp"] = time
    call.name = meta.get("name") or ""
    if resource.definition.named_by_uid and not call.name:
        meta["name"] = call.name = system_fields.uid()
    context = Context(call.served, time, "", call.user, call.warn, write.reservation)
    restored = empties.show(obj, call.empties)
    strategy.prepare_for_create(context, obj)
    errors = strategy.validate(context, obj)
    warnings = [] if errors else strategy.warnings_on_create(context, obj)
    empties.hide(restored)
    if errors:
        kind = obj.get("kind") or resource.kind  # a custom resource may contain a wrong one
        raise status.invalid(_error_group(resource.definition), kind, call.name, errors)
    for warning in resource.wording.warnings(warnings):
        call.warn(warning)
    strategy.canonicalize(obj)


def before_update(write: WriteRequest, system_fields: SystemFields) -> None:
    """Copy the system fields from the old object, then prepare and validate the new one.

    Raises StatusError 409 if the object names another version than the stored one, and 422.
    """
    call, obj, old, entry = write.call, write.object, write.old, write.entry
    assert obj is not None, "an update has an object"
    assert old is not None, "and an old one"
    assert entry is not None, "and an old one"
    _check_version(call, obj, entry)
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
    _set_namespace(call, meta)
    resource, strategy = call.resource, call.resource.strategy
    context = Context(
        call.served,
        system_fields.timestamp(),
        call.subresource,
        call.user,
        call.warn,
        write.reservation,
    )
    restored = empties.show(obj, call.empties)
    strategy.prepare_for_update(context, obj, old)
    errors = strategy.validate_update(context, obj, old)
    warnings = [] if errors else strategy.warnings_on_update(context, obj, old)
    empties.hide(restored)
    if errors:
        name = obj["metadata"].get("name") or ""  # a webhook may have changed it
        kind = obj.get("kind") or resource.kind
        raise status.invalid(_error_group(resource.definition), kind, name, errors)
    for warning in resource.wording.warnings(warnings):
        call.warn(warning)
    strategy.canonicalize(obj)


def begin_new(write: WriteRequest) -> None:
    """Give an object that an update creates the form that a create accepts. Raises StatusError 409
    if it names a uid."""
    call, obj = write.call, write.object
    assert obj is not None, "an update has made it"
    meta = metadata(obj)
    if meta.get("uid"):
        raise wrong_uid(call, meta["uid"], "")
    write.store.strip(obj)
    if call.resource.namespaced:
        meta["namespace"] = call.namespace


def _error_group(definition: Definition) -> str:
    own = definition.error_group
    return definition.group if own is None else own


def _set_namespace(call: Call, meta: Object) -> None:
    if call.resource.namespaced:
        meta["namespace"] = call.namespace
    else:
        meta.pop("namespace", None)


def _check_version(call: Call, obj: Object, entry: Entry) -> None:
    """Check resourceVersion and uid against the stored object. A kind can allow updates without a
    version. Raises StatusError."""
    resource = call.resource
    meta = metadata(obj)
    version = _parse_version(meta.get("resourceVersion"))
    uid = meta.get("uid")
    current = entry.value["metadata"]["uid"]
    if version == 0:
        if not _unconditional(call):
            versionless = resource.definition.versionless
            if versionless is not None:
                raise versionless(call.name)
            error = fielderrors.invalid(
                "metadata.resourceVersion", 0, "must be specified for an update"
            )
            raise status.invalid(resource.group, resource.plural, call.name, [error])
        meta["resourceVersion"] = str(entry.revision)
    elif version != entry.revision:
        raise stale(call)
    if uid and uid != current and (call.verb == "update" or call.subresource == "scale"):
        raise wrong_uid(call, uid, current)


def _parse_version(text: Any) -> int:
    """Parse the resourceVersion of a body: 0 if it is missing, "" or "0". Raises StatusError 500,
    as upstream."""
    if not text:
        return 0
    try:
        return strconv.parse_uint(str(text))
    except ValueError as error:
        raise status.unknown(str(error)) from error


def _unconditional(call: Call) -> bool:
    definition = call.resource.definition
    relaxed = definition.relaxed_subresources or not call.subresource
    allowed = definition.unconditional_update and relaxed
    return allowed or call.subresource == "scale"


def stale(call: Call) -> status.StatusError:
    """Return the error for a write based on an older state: the kind's own error
    (`Definition.stale`) or 409."""
    resource = call.resource
    if resource.definition.stale is not None:
        return resource.definition.stale(call.name)
    return status.conflict(resource.group, resource.plural, call.name)


def wrong_uid(call: Call, uid: str, current: str) -> status.StatusError:
    """Return the error for an object whose uid differs from the stored uid. `current` is "" if no
    object is stored."""
    resource = call.resource
    return status.wrong_uid(resource.group, resource.plural, call.name, call.key, uid, current)


def uid_without_object(call: Call, uid: str) -> status.StatusError:
    """Return the error 409 for an apply that names a uid although no object is stored."""
    why = f"uid mismatch: the provided object specified uid {uid}, and no existing object was found"
    return status.conflict(call.resource.group, call.resource.plural, call.name, why)
