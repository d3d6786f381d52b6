"""Repeated owner references, equal in every member: the first remains, and the client gets a
warning.

Follows apiserver/pkg/endpoints/handlers/create.go (dedupOwnerReferencesAndAddWarning). Patches of
each kind are checked only after mutating admission, as in handlers/patch.go.
"""

import json

from inkube.apiserver.registry.requests import Request
from inkube.apiserver.registry.write import Write
from inkube.schemas.objects import Object

_AFTER_ADMISSION = "after mutating admission happens"
_WARNING = (
    ".metadata.ownerReferences contains duplicate entries{when}; API server dedups owner "
    "references in 1.20+, and may reject such requests as early as 1.24; please fix your "
    "requests; duplicate UID(s) observed: {uids}"
)


def deduplicate(write: Request | Write, obj: Object, *, is_admitted: bool = False) -> None:
    """Remove repeated references from an object and add a warning. `is_admitted` means that
    mutating admission has run."""
    meta = obj.get("metadata") or {}
    references = meta.get("ownerReferences")
    if not isinstance(references, list) or len(references) < 2:
        return
    kept: dict[str, Object] = {}
    repeated: dict[str, None] = {}
    for reference in references:
        identity = json.dumps(reference, sort_keys=True)
        if identity in kept:
            repeated[reference.get("uid", "")] = None
        else:
            kept[identity] = reference
    if repeated:
        meta["ownerReferences"] = list(kept.values())
        when = f" {_AFTER_ADMISSION}" if is_admitted else ""
        write.warn(_WARNING.format(when=when, uids=", ".join(repeated)))
