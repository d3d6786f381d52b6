"""RBAC: what a rule must say, the defaults of subjects, the roleRef that is for good.

Follows pkg/apis/rbac/validation and pkg/apis/rbac/v1/defaults.go. Escalation is the server's.
"""

from inkube.schemas import fielderrors
from inkube.schemas.builtin.behaviours import checks, naming
from inkube.schemas.builtin.behaviours.base import BuiltinStrategy
from inkube.schemas.fielderrors import FieldError
from inkube.schemas.metadata import names
from inkube.schemas.objects import Object

GROUP = "rbac.authorization.k8s.io"
_SUBJECTS = ("ServiceAccount", "User", "Group")


class Roles(BuiltinStrategy):
    """Roles and ClusterRoles."""

    def check(self, obj: Object) -> list[FieldError]:
        errors = []
        for index, rule in enumerate(obj.get("rules") or []):
            errors += _rule(rule, f"rules[{index}]", namespaced=self.definition.namespaced)
        aggregation = obj.get("aggregationRule")
        if aggregation is not None:
            errors += _aggregation(aggregation.get("clusterRoleSelectors") or [])
        return errors

    def check_update(self, obj: Object, old: Object) -> list[FieldError]:
        """The strategy checks a changed role, and ValidateRoleUpdate does so again."""
        return self.check(obj) * 2


def _rule(rule: Object, path: str, *, namespaced: bool) -> list[FieldError]:
    errors = []
    if not rule.get("verbs"):
        why = "verbs must contain at least one value"
        errors.append(fielderrors.required(f"{path}.verbs", why))
    urls = rule.get("nonResourceURLs")
    if urls:
        place = f"{path}.nonResourceURLs"
        if namespaced:
            why = "namespaced rules cannot apply to non-resource URLs"
            errors.append(fielderrors.invalid(place, urls, why))
        if rule.get("apiGroups") or rule.get("resources") or rule.get("resourceNames"):
            why = "rules cannot apply to both regular resources and non-resource URLs"
            errors.append(fielderrors.invalid(place, urls, why))
        return errors
    for member, word in (("apiGroups", "api group"), ("resources", "resource")):
        if not rule.get(member):
            why = f"resource rules must supply at least one {word}"
            errors.append(fielderrors.required(f"{path}.{member}", why))
    return errors


def _aggregation(selectors: list[Object]) -> list[FieldError]:
    path = "aggregationRule.clusterRoleSelectors"
    if not selectors:
        why = "at least one clusterRoleSelector required if aggregationRule is non-nil"
        return [fielderrors.required(path, why)]
    return [
        error
        for index, selector in enumerate(selectors)
        for error in checks.label_selector(selector, f"{path}[{index}]")
    ]


class Bindings(BuiltinStrategy):
    """RoleBindings and ClusterRoleBindings."""

    def default(self, obj: Object) -> None:
        reference = obj.setdefault("roleRef", {})
        if not reference.get("apiGroup"):
            reference["apiGroup"] = GROUP
        for subject in obj.get("subjects") or []:
            if subject.get("kind") in ("User", "Group") and not subject.get("apiGroup"):
                subject["apiGroup"] = GROUP

    def check(self, obj: Object) -> list[FieldError]:
        reference = obj.get("roleRef") or {}
        kinds = ("Role", "ClusterRole") if self.definition.namespaced else ("ClusterRole",)
        errors = []
        if reference.get("apiGroup") != GROUP:
            given = reference.get("apiGroup", "")
            errors.append(fielderrors.not_supported("roleRef.apiGroup", given, [GROUP]))
        if reference.get("kind") not in kinds:
            given = reference.get("kind", "")
            errors.append(fielderrors.not_supported("roleRef.kind", given, kinds))
        if not reference.get("name"):
            errors.append(fielderrors.required("roleRef.name"))
        else:
            errors += checks.named(reference["name"], "roleRef.name", names.path_segment)
        for index, subject in enumerate(obj.get("subjects") or []):
            errors += _subject(subject, f"subjects[{index}]", namespaced=self.definition.namespaced)
        return errors

    def check_update(self, obj: Object, old: Object) -> list[FieldError]:
        """The strategy checks a changed binding, and ValidateRoleBindingUpdate does so again."""
        errors = self.check(obj) * 2
        if obj.get("roleRef") != old.get("roleRef"):
            reference = obj.get("roleRef") or {}
            value = {name[:1].upper() + name[1:]: text for name, text in reference.items()}
            value["APIGroup"] = value.pop("ApiGroup", "")
            errors.append(fielderrors.invalid("roleRef", value, "cannot change roleRef"))
        return errors


def _subject(subject: Object, path: str, *, namespaced: bool) -> list[FieldError]:
    kind, name, group = (subject.get(member, "") for member in ("kind", "name", "apiGroup"))
    errors = [] if name else [fielderrors.required(f"{path}.name")]
    if kind == "ServiceAccount":
        if name:
            errors += checks.named(name, f"{path}.name", naming.subdomain)
        if group:
            errors.append(fielderrors.not_supported(f"{path}.apiGroup", group, [""]))
        if not namespaced and not subject.get("namespace"):
            errors.append(fielderrors.required(f"{path}.namespace"))
    elif kind in ("User", "Group"):
        if group != GROUP:
            errors.append(fielderrors.not_supported(f"{path}.apiGroup", group, [GROUP]))
    else:
        errors.append(fielderrors.not_supported(f"{path}.kind", kind, _SUBJECTS))
    return errors
