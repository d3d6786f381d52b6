"""The rules of deletion: preconditions, grace, finalizers, propagation.

Pure decisions for `registry.delete`, without access to the store. Follows
apiserver/pkg/registry/rest/delete.go (BeforeDelete) and
updateForGracefulDeletionAndFinalizers of generic/registry/store.go.
"""

from datetime import datetime, timedelta
from typing import NamedTuple

from inkube.apiserver.registry.requests import DeleteOptions, Request
from inkube.apiserver.registry.resource import Resource
from inkube.apiserver.registry.systemfields import SystemFields
from inkube.apiserver.registry.write import Write
from inkube.schemas import meta as metadata
from inkube.schemas import status
from inkube.schemas.objects import Object
from inkube.storage import Entry

ORPHAN = "orphan"
FOREGROUND = "foregroundDeletion"


class Plan(NamedTuple):
    """The steps of a DELETE: store `state` unless it is None, then remove the object if `goes`."""

    state: Object | None
    goes: bool


def check_preconditions(request: Request, entry: Entry, options: DeleteOptions) -> None:
    """Check uid and resourceVersion of the options. Raises StatusError 409 if one differs."""
    uid, version = entry.value["metadata"]["uid"], str(entry.revision)
    if options.uid is not None and options.uid != uid:
        asked, found = options.uid, uid
        plain = status.precondition_text("UID", asked, found)
        text = (
            f"the UID in the precondition ({asked}) does not match the UID in record ({found}). "
            "The object might have been deleted and then recreated"
        )
    elif options.resource_version is not None and options.resource_version != version:
        asked, found = options.resource_version, version
        plain = status.precondition_text("ResourceVersion", asked, found)
        text = (
            f"the ResourceVersion in the precondition ({asked}) does not match the "
            f"ResourceVersion in record ({found}). The object might have been modified"
        )
    else:
        return
    resource = request.resource
    if resource.definition.deletes_in_phases:
        raise status.conflict(resource.group, resource.plural, request.name, plain)
    raise status.conflict(resource.group, resource.kind, request.name, text)


def plan(write: Write, obj: Object, options: DeleteOptions) -> Plan:
    """Decide between a removal and a deletionTimestamp. Changes members of the object's metadata,
    and for `deletes_in_phases` also other members, in place."""
    meta = obj["metadata"]
    meta.pop("resourceVersion", None)
    resource, system_fields = write.request.resource, write.engine.system_fields
    phased = resource.definition.deletes_in_phases
    if phased and resource.strategy.prepare_for_delete(obj, system_fields.timestamp()):
        return Plan(obj, goes=False)
    held = bool(meta.get("deletionGracePeriodSeconds")) and "deletionTimestamp" in meta
    if held and not _is_shorter(meta, options.grace):
        return Plan(obj, goes=False)
    graceful = _graceful(write, obj, options)
    before = meta.get("finalizers") or []
    finalizers = _finalizers(resource, before, options)
    if finalizers:
        meta["finalizers"] = finalizers
    else:
        meta.pop("finalizers", None)
    if finalizers and not graceful:
        _mark(meta, system_fields)
    if not finalizers and not graceful:
        return Plan(None, goes=True)
    return Plan(obj, goes=not finalizers and not meta["deletionGracePeriodSeconds"])


def _is_shorter(meta: Object, requested: int | None) -> bool:
    """Return whether the requested period is shorter than the pending one, in seconds. A negative
    period counts as one second."""
    return (
        requested is not None
        and (requested if requested >= 0 else 1) < meta["deletionGracePeriodSeconds"]
    )


def _graceful(write: Write, obj: Object, options: DeleteOptions) -> bool:
    """Set the times of a graceful deletion. Returns False if the kind or the object does not have a
    grace period."""
    meta = obj["metadata"]
    asked = 1 if options.grace is not None and options.grace < 0 else options.grace
    if "deletionTimestamp" in meta:
        pending = meta.get("deletionGracePeriodSeconds") or 0
        if not pending or asked is None:
            return False
        end = datetime.fromisoformat(meta["deletionTimestamp"]) - _seconds(pending)
        end += _seconds(asked)
        now = write.engine.system_fields.now()
        if end < now:
            end, asked = now, min(asked, 1)
        meta["deletionTimestamp"] = metadata.format_time(end)
        meta["deletionGracePeriodSeconds"] = asked
        return True
    period = write.request.resource.strategy.check_graceful_delete(obj, asked)
    if period is None:
        return False
    end = write.engine.system_fields.now() + _seconds(period)
    meta["deletionTimestamp"] = metadata.format_time(end)
    meta["deletionGracePeriodSeconds"] = period
    _count(meta)
    return True


def _seconds(count: int) -> timedelta:
    """Return Go's `time.Second * count`: nanoseconds of 64 bits, which overflow silently."""
    nanoseconds = (count * 10**9 + 2**63) % 2**64 - 2**63
    return timedelta(microseconds=nanoseconds // 1000)


def _mark(meta: Object, system_fields: SystemFields) -> None:
    """Set the deletionTimestamp to now, without a grace period (store.go, markAsDeleting)."""
    if meta.get("deletionGracePeriodSeconds") is None:
        _count(meta)
    now = system_fields.timestamp()
    if meta.get("deletionTimestamp", "~") > now:
        meta["deletionTimestamp"] = now
    meta["deletionGracePeriodSeconds"] = 0


def _count(meta: Object) -> None:
    if meta.get("generation"):
        meta["generation"] += 1


def _finalizers(resource: Resource, present: list[str], options: DeleteOptions) -> list[str]:
    """Return the finalizers, with those of the garbage collector that the options, the object or
    the kind require."""
    default = resource.definition.dependents
    if default == "ignore":
        orphan = foreground = False
    elif options.orphan is not None:
        orphan, foreground = options.orphan, False
    elif options.propagation is not None:
        orphan = options.propagation == "Orphan"
        foreground = options.propagation == "Foreground"
    else:
        own = next((name for name in present if name in (ORPHAN, FOREGROUND)), None)
        orphan = own == ORPHAN or (own is None and default == "orphan")
        foreground = FOREGROUND in present and own == FOREGROUND
    wanted = [name for name, on in ((ORPHAN, orphan), (FOREGROUND, foreground)) if on]
    made = [name for name in present if name not in (ORPHAN, FOREGROUND)] + wanted
    return present if set(made) == set(present) else made


def is_finished(resource: Resource, obj: Object, stored: Object) -> bool:
    """Return whether an update removed the last finalizer of an object that is being deleted."""
    before = stored["metadata"]
    return (
        "deletionTimestamp" in before
        and not before.get("deletionGracePeriodSeconds")
        and not obj["metadata"].get("finalizers")
        and resource.strategy.should_delete_during_update(obj)
    )
