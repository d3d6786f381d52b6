"""Decoding of a client's JSON to a CustomResourceDefinition.

The registry calls it before defaulting. The result has every member that the other modules of
this package read.
"""

from inkube.schemas.golang import DecodeError
from inkube.schemas.gotypes import decoding, types
from inkube.schemas.objects import Empty, Object

_TYPE = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinition"
_NO_WEBHOOK = {"conversionReviewVersions": None}


def decode(body: Object, empties: list[Empty] | None = None) -> tuple[Object, list[str]]:
    """Return the CRD as kube-apiserver decodes it, and the paths of its unknown fields.

    Unknown fields under `items` and `additionalProperties` are dropped without an error, because
    their Go types decode themselves. Adds omitted empty lists and maps to `empties`. Raises
    DecodeError if a value has another type than its field.
    """
    try:
        crd, unknown, found = decoding.decode(types.of(_TYPE), body, keep_empty=True)
    except RecursionError as deep:
        raise DecodeError("json: exceeded max depth") from deep
    if empties is not None:
        empties.extend(found)
    conversion = crd["spec"].get("conversion") or {}
    if conversion.get("webhook") == _NO_WEBHOOK:
        del conversion["webhook"]  # internal types have its fields, but not the member itself
    return crd, unknown
