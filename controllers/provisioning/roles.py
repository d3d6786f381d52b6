"""The ClusterRoles for kinds of provisioning.grafana.app: Grafana's basic roles.

No user has them until a binding gives them.
"""

from collections.abc import Iterable

from inkube.client import Object

GROUP = "provisioning.grafana.app"
_READ = ("get", "list", "watch")


def _rule(verbs: Iterable[str], *resources: str) -> Object:
    return {"verbs": [*verbs], "apiGroups": [GROUP], "resources": [*resources]}


def _role(name: str, *rules: Object) -> Object:
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": f"grafana:provisioning:{name}"},
        "rules": [*rules],
    }


ROLES = (
    _role("viewer", _rule(_READ, "repositories", "settings")),
    _role(
        "editor",
        _rule(_READ, "repositories", "settings"),
        _rule(["get"], "repositories/refs"),
        _rule(["create", "delete", "get", "update"], "repositories/files"),
        _rule(["create", "get"], "repositories/jobs"),
        _rule(_READ, "jobs"),
    ),
    _role("admin", _rule(["*"], "*")),
)
