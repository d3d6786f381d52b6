"""The annotation in which `kubectl apply` keeps the object that it has applied (client-side)."""

import json
from typing import Final

from inkube.schemas.objects import Object

LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"


def last_applied(metadata: Object) -> Object:
    """Return the object as `kubectl apply` has applied it last, by its metadata: {} if it has
    not, or if the annotation contains no object."""
    text = (metadata.get("annotations") or {}).get(LAST_APPLIED)
    try:
        applied = json.loads(text) if isinstance(text, str) else {}
    except (ValueError, RecursionError):
        return {}
    return applied if isinstance(applied, dict) else {}
