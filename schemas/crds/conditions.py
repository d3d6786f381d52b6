"""Conditions of a CustomResourceDefinition: find one, set one.

Follows apiextensions-apiserver/pkg/apihelpers/helpers.go.
"""

from inkube.schemas.objects import Object

NAMES_ACCEPTED = "NamesAccepted"
ESTABLISHED = "Established"
TERMINATING = "Terminating"
APPROVAL = "KubernetesAPIApprovalPolicyConformant"


def find(status: Object, kind: str) -> Object | None:
    """Return the condition of this type, None without one."""
    return next((c for c in status.get("conditions") or () if c.get("type") == kind), None)


def is_true(status: Object, kind: str) -> bool:
    """Return whether the condition of this type has the status "True"."""
    condition = find(status, kind)
    return condition is not None and condition.get("status") == "True"


def put(status: Object, condition: Object, now: str) -> None:
    """Set the condition in `status`; its time changes only if its status changes."""
    existing = find(status, condition["type"])
    if existing is None:
        conditions = status.get("conditions") or []
        status["conditions"] = [*conditions, {"lastTransitionTime": now, **condition}]
        return
    if existing["status"] != condition["status"] or not existing.get("lastTransitionTime"):
        existing["lastTransitionTime"] = now
    existing.update(condition)


def condition(kind: str, status: str, reason: str, message: str) -> Object:
    """Return a condition without a time, which `put` adds."""
    return {"message": message, "reason": reason, "status": status, "type": kind}
