"""Pods from templates, and hashes that distinguish templates.

Follows pkg/controller/controller_utils.go (GetPodFromTemplate) and pkg/util/hash. A hash has the
form of upstream's hashes, whose values can differ between versions. Here, it is computed from the
canonical JSON.
"""

from typing import Any

import orjson

from inkube.client import Object
from inkube.formats import controller_reference

_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"
_OFFSET, _PRIME = 2166136261, 16777619  # FNV-1a of 32 bits


def template_hash(value: Any, collisions: int | None = None) -> str:
    """Return a hash of at most ten characters; equal values have equal hashes. `collisions` varies
    it."""
    data = orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
    if collisions is not None:
        data += collisions.to_bytes(8, "little")
    number = _OFFSET
    for byte in data:
        number = (number ^ byte) * _PRIME & 0xFFFFFFFF
    return "".join(_ALPHABET[ord(digit) % len(_ALPHABET)] for digit in str(number))


def pod(template: Object, owner: Object) -> Object:
    """Return a new pod from a copy of the template, named after its owner and controlled by it."""
    made: Object = orjson.loads(orjson.dumps(template))
    meta = made.get("metadata") or {}
    metadata: Object = {
        "generateName": f"{owner['metadata']['name']}-",
        "namespace": owner["metadata"]["namespace"],
        "ownerReferences": [controller_reference(owner)],
    }
    for member in ("labels", "annotations", "finalizers"):
        if meta.get(member):
            metadata[member] = meta[member]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": made["spec"]}


def copy(obj: Object) -> Object:
    """Return a deep copy of a cached object, which the caller can change."""
    made: Object = orjson.loads(orjson.dumps(obj))
    return made
