"""The options of a request as an object: CreateOptions, UpdateOptions or DeleteOptions.

Webhooks and policies receive it (admission.Attributes.GetOperationOptions).
"""

from inkube.apiserver.registry.admission import Attributes
from inkube.apiserver.registry.calls import DeleteOptions
from inkube.schemas.objects import Object

_KINDS = {"CREATE": "CreateOptions", "UPDATE": "UpdateOptions", "DELETE": "DeleteOptions"}


def of(attributes: Attributes) -> Object | None:
    """Return the options of the request; None for an operation without options (CONNECT)."""
    kind = _KINDS.get(attributes.operation)
    if kind is None:
        return None
    made: Object = {"kind": kind, "apiVersion": "meta.k8s.io/v1"}
    if isinstance(attributes.options, DeleteOptions):
        made |= _delete_options(attributes.options)
    if attributes.dry_run:
        made["dryRun"] = ["All"]
    options = attributes.call.options
    if attributes.operation != "DELETE":
        if options.field_manager:
            made["fieldManager"] = options.field_manager
        if options.told_validation:
            made["fieldValidation"] = options.told_validation
    return made


def _delete_options(options: DeleteOptions) -> Object:
    preconditions = {"uid": options.uid, "resourceVersion": options.resource_version}
    found: Object = {
        "gracePeriodSeconds": options.grace,
        "preconditions": {k: v for k, v in preconditions.items() if v is not None} or None,
        "orphanDependents": options.orphan,
        "propagationPolicy": options.propagation,
    }
    return {key: value for key, value in found.items() if value is not None}
