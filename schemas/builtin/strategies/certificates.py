"""Certificate signing requests: the server sets the requester, and the spec is immutable.

Two subresources write the approval and the certificate, which are parts of the status.
certificates.rules contains the rules for fields. Follows
pkg/registry/certificates/certificates/strategy.go.
"""

from inkube.schemas.builtin.strategies.base import BuiltinStrategy, keep
from inkube.schemas.objects import Object
from inkube.schemas.strategy import Context, User

_REQUESTER = ("username", "uid", "groups", "extra")
_DECISIONS = ("Approved", "Denied")


class SigningRequests(BuiltinStrategy):
    """The strategy of CertificateSigningRequests, which keeps the requester and the spec."""

    def default(self, obj: Object) -> None:
        spec = obj.setdefault("spec", {})
        spec.setdefault("request", None)
        for condition in (obj.get("status") or {}).get("conditions") or ():
            if not condition.get("status"):
                condition["status"] = "True"

    def prepare_for_create(self, context: Context, obj: Object) -> None:
        super().prepare_for_create(context, obj)
        _record(obj["spec"], context.user)

    def prepare_object(self, context: Context, obj: Object, old: Object) -> None:
        keep(obj, old, "spec")
        keep(obj, old, "status")

    def prepare_status(self, context: Context, obj: Object, old: Object) -> None:
        """Keep the spec and the decisions of the old status, which only /approval writes."""
        keep(obj, old, "spec")
        status, before = obj.setdefault("status", {}), old.get("status") or {}
        decided = [one for one in before.get("conditions") or () if one["type"] in _DECISIONS]
        given = [one.get("type") for one in status.get("conditions") or ()]
        missing = [one for one in decided if one["type"] not in given]
        if missing:
            status["conditions"] = [*(status.get("conditions") or ()), *missing]
        _settle_times(obj, old, context.now)

    def prepare_part(self, context: Context, obj: Object, old: Object) -> None:
        """Keep the object except the conditions, the only members that /approval writes."""
        keep(obj, old, "spec")
        status = dict(old.get("status") or {})
        keep(status, obj.get("status") or {}, "conditions")
        obj["status"] = status
        _settle_times(obj, old, context.now)


def _record(spec: Object, user: User) -> None:
    """Set the requester to the authenticated user, in place of the values in the body."""
    for member in _REQUESTER:
        spec.pop(member, None)
    extra = {name: list(values) for name, values in user.extra}
    names = {"username": user.name, "uid": user.uid, "groups": list(user.groups), "extra": extra}
    spec.update({member: value for member, value in names.items() if value})


def _settle_times(obj: Object, old: Object, now: str) -> None:
    """Set missing times of conditions, in place (populateConditionTimestamps)."""
    before = {one.get("type"): one for one in (old.get("status") or {}).get("conditions") or ()}
    for condition in (obj.get("status") or {}).get("conditions") or ():
        if not condition.get("lastUpdateTime"):
            condition["lastUpdateTime"] = now
        if condition.get("lastTransitionTime"):
            continue
        known = before.get(condition.get("type"))
        unchanged = known is not None and known.get("status") == condition.get("status")
        since = known.get("lastTransitionTime") if known is not None and unchanged else None
        condition["lastTransitionTime"] = since or now
