"""The options of a request as an object: CreateOptions, UpdateOptions or DeleteOptions.

Webhooks and policies receive it (admission.Attributes.GetOperationOptions).
"""

from inkube.apiserver.registry.requests import DeleteOptions
from inkube.apiserver.registry.write import Write
from inkube.schemas.objects import Object

_KINDS = {"CREATE": "CreateOptions", "UPDATE": "UpdateOptions", "DELETE": "DeleteOptions"}


def of(write: Write) -> Object | None:
    """Return the options of the request; None for an operation without options (CONNECT)."""
    kind = _KINDS.get(write.operation)
    if kind is None:
        return None
    made: Object = {"kind": kind, "apiVersion": "meta.k8s.io/v1"}
    if isinstance(write.options, DeleteOptions):
        made |= _delete_options(write.options)
    if write.dry_run:
        made["dryRun"] = ["All"]
    options = write.request.options
    if write.operation != "DELETE":
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
