"""What built-in kinds do that their data cannot say; `of` finds the behaviour of a resource."""

from functools import cache

from inkube.schemas.builtin import resources
from inkube.schemas.builtin.behaviours import (
    configuration,
    events,
    leases,
    limits,
    namespaces,
    rbac,
)
from inkube.schemas.builtin.behaviours.base import Behaviour

__all__ = ["Behaviour", "of"]

_RBAC = "rbac.authorization.k8s.io"
_FAMILIES: dict[tuple[str, str], type[Behaviour]] = {
    ("", "configmaps"): configuration.ConfigMaps,
    ("", "events"): events.CoreEvents,
    ("", "limitranges"): limits.LimitRanges,
    ("", "namespaces"): namespaces.Namespaces,
    ("", "resourcequotas"): limits.ResourceQuotas,
    ("", "secrets"): configuration.Secrets,
    ("coordination.k8s.io", "leases"): leases.Leases,
    ("events.k8s.io", "events"): events.Events,
    ("scheduling.k8s.io", "priorityclasses"): leases.PriorityClasses,
    (_RBAC, "clusterrolebindings"): rbac.Bindings,
    (_RBAC, "clusterroles"): rbac.Roles,
    (_RBAC, "rolebindings"): rbac.Bindings,
    (_RBAC, "roles"): rbac.Roles,
}


@cache
def of(group: str, plural: str) -> Behaviour:
    """The behaviour of a built-in resource. Raises KeyError for an unknown one."""
    return _FAMILIES.get((group, plural), Behaviour)(resources.by_name()[group, plural])
