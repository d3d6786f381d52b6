"""Default roles and bindings that a start completes: what they grant is added again if it is
missing, and more that they grant stays.

An object whose annotation `rbac.authorization.kubernetes.io/autoupdate` is "false" stays as it is.
Follows component-helpers/auth/rbac/reconciliation, without the removal of extra permissions.
"""

from inkube.apiserver import auth
from inkube.schemas.objects import Object

SPLIT = {"system:public-info-viewer": "system:discovery"}
"""The name of a binding → that of the binding of which it was a part before Kubernetes 1.14."""
PLURALS = frozenset({"clusterroles", "clusterrolebindings", "roles", "rolebindings"})
_AUTOUPDATE = "rbac.authorization.kubernetes.io/autoupdate"


def reconciled(stored: Object, expected: Object) -> Object:
    """Return a stored role or binding with everything that is expected of it."""
    meta = stored["metadata"]
    if (meta.get("annotations") or {}).get(_AUTOUPDATE) == "false":
        return stored
    merged = {
        member: {**expected["metadata"].get(member, {}), **(meta.get(member) or {})}
        for member in ("annotations", "labels")
    }
    result = {**stored, "metadata": {**meta, **merged}}
    if "roleRef" in expected:
        present = stored.get("subjects") or []
        missing = [each for each in expected.get("subjects") or () if each not in present]
        result["roleRef"] = expected["roleRef"]
        return {**result, "subjects": [*present, *missing]} if missing else result
    if "aggregationRule" in expected:
        return _with_selectors(result, expected["aggregationRule"]["clusterRoleSelectors"])
    rules = stored.get("rules") or []
    if rules != expected["rules"]:
        missing = auth.rules.uncovered(rules, expected["rules"])
        result["rules"] = [*rules, *missing]
    return result


def split(binding: Object, source: Object) -> Object:
    """Return a default binding with the subjects, labels and annotations of its source. If the
    source is not reconciled, neither is the binding, and what an administrator removed there is not
    granted by it (primeSplitClusterRoleBindings)."""
    names = ("annotations", "labels")
    kept = {name: value for name in names if (value := source["metadata"].get(name))}
    meta = {name: value for name, value in binding["metadata"].items() if name not in names}
    subjects = source.get("subjects") or []
    return reconciled({**binding, "metadata": {**meta, **kept}, "subjects": subjects}, binding)


def _with_selectors(role: Object, expected: list[Object]) -> Object:
    """Return an aggregated role with these selectors: the rules come from other roles."""
    present = (role.get("aggregationRule") or {}).get("clusterRoleSelectors") or []
    missing = [each for each in expected if each not in present]
    if not missing:
        return role
    return {**role, "aggregationRule": {"clusterRoleSelectors": [*present, *missing]}}
