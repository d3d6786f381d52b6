"""The rules of deletion: preconditions, finalizers, propagation, grace.

Pure decisions for `registry.delete`; nothing is stored here. Follows
apiserver/pkg/registry/rest/delete.go and the finalizer logic of generic/registry/store.go.
"""

from typing import Any

from inkube.apiserver.calls import Call
from inkube.apiserver.identity import Identity
from inkube.apiserver.options import DeleteOptions
from inkube.schemas import status
from inkube.storage.entry import Entry

Object = dict[str, Any]
ORPHAN = "orphan"
FOREGROUND = "foregroundDeletion"


def check_preconditions(call: Call, entry: Entry, options: DeleteOptions) -> None:
    """Refuse when uid or resourceVersion differ. Raises StatusError 409."""
    uid = entry.value["metadata"]["uid"]
    resource = call.resource
    name = resource.plural if resource.builtin else resource.kind
    if options.uid is not None and options.uid != uid:
        why = f"Precondition failed: UID in precondition: {options.uid}, UID in object meta: {uid}"
        raise status.conflict(resource.group, name, call.name, why)
    if options.resource_version is not None and options.resource_version != str(entry.revision):
        why = (
            "Precondition failed: ResourceVersion in precondition: "
            f"{options.resource_version}, ResourceVersion in object meta: {entry.revision}"
        )
        raise status.conflict(resource.group, name, call.name, why)


def mark(call: Call, obj: Object, options: DeleteOptions, identity: Identity) -> Object | None:
    """The object as it waits for its finalizers; None when it can go at once."""
    meta = obj["metadata"]
    if call.resource.strategy.mark_deleted(obj):
        meta.pop("resourceVersion", None)
        return obj
    finalizers = _finalizers(meta.get("finalizers") or [], options)
    if not finalizers:
        return None
    meta["finalizers"] = finalizers
    if "deletionTimestamp" not in meta:
        meta["deletionTimestamp"] = identity.timestamp()
        meta["deletionGracePeriodSeconds"] = 0
        if "generation" in meta:
            meta["generation"] += 1
    meta.pop("resourceVersion", None)
    return obj


def _finalizers(present: list[str], options: DeleteOptions) -> list[str]:
    """Those present, with the garbage collector's set as the propagation asks."""
    orphan = options.propagation == "Orphan" or bool(options.orphan)
    foreground = options.propagation == "Foreground"
    said = options.propagation is not None or options.orphan is not None
    if not said:
        return present
    wanted = {ORPHAN: orphan, FOREGROUND: foreground}
    kept = [name for name in present if wanted.get(name, True)]
    return kept + [name for name, on in wanted.items() if on and name not in kept]


def is_finished(obj: Object, stored: Object) -> bool:
    """Whether an update took the last finalizer from an object that is being deleted."""
    meta = obj["metadata"]
    return (
        "deletionTimestamp" in stored["metadata"]
        and not meta.get("finalizers")
        and not meta.get("deletionGracePeriodSeconds")
    )
