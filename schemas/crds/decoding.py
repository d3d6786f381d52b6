"""A client's JSON becomes a CustomResourceDefinition, or is refused.

Called by the registry before defaulting; the result has every member that the other modules of
this package read.
"""

from typing import Any

from inkube.schemas import status
from inkube.schemas.crds import godecode, kinds
from inkube.schemas.golang import gotext

Object = dict[str, Any]

_CANNOT = (
    'CustomResourceDefinition in version "v1" cannot be handled as a CustomResourceDefinition: '
)


def decode(body: Object) -> tuple[Object, list[str]]:
    """The CRD as the reference understands it, and its unknown fields as strict errors.

    Unknown fields under `items` and `additionalProperties` are dropped without a word: their Go
    types decode themselves. Raises StatusError 400 when a value has another type than its field.
    """
    unknown: list[str] = []
    try:
        crd = kinds.CRD(body, "", unknown)
    except godecode.Mismatch as mismatch:
        raise status.bad_request(_CANNOT + mismatch.text()) from mismatch
    except godecode.Malformed as malformed:
        raise status.bad_request(_CANNOT + str(malformed)) from malformed
    except RecursionError as deep:
        raise status.bad_request(_CANNOT + "json: exceeded max depth") from deep
    return crd, [f"unknown field {gotext.quote(path)}" for path in unknown]
