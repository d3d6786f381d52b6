"""The ClusterRoles and bindings that every cluster has, for those the server has use for.

Roles of components that do not run here (scheduler, kubelet, proxies) are left out. `admin`, `edit`
and `view` gather theirs by aggregation and are complete from the start. Follows
plugin/pkg/auth/authorizer/rbac/bootstrappolicy/policy.go.
"""

from collections.abc import Iterator
from typing import Any

Object = dict[str, Any]
GROUP = "rbac.authorization.k8s.io"
_API = f"{GROUP}/v1"
_AGGREGATE = f"{GROUP}/aggregate-to-"
_READ = ["get", "list", "watch"]
_WRITE = ["create", "delete", "deletecollection", "patch", "update"]
_ALL = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"]
_ANYONE = ("system:authenticated", "system:unauthenticated")
_DISCOVERY = [
    "/api", "/api/*", "/apis", "/apis/*", "/healthz", "/livez", "/openapi", "/openapi/*",
    "/readyz", "/version", "/version/",
]  # fmt: skip
_ISSUER = [
    "/.well-known/openid-configuration", "/.well-known/openid-configuration/", "/openid/v1/jwks",
    "/openid/v1/jwks/",
]  # fmt: skip
_PUBLIC = ["/healthz", "/livez", "/readyz", "/version", "/version/"]
_MONITORING = [
    "/healthz", "/healthz/*", "/livez", "/livez/*", "/metrics", "/metrics/slis", "/readyz",
    "/readyz/*",
]  # fmt: skip
_APPS = [
    "daemonsets", "deployments", "deployments/rollback", "deployments/scale", "replicasets",
    "replicasets/scale", "statefulsets", "statefulsets/scale",
]  # fmt: skip
_EDITABLE = [
    ("", ["pods", "pods/attach", "pods/exec", "pods/portforward", "pods/proxy"]),
    (
        "",
        [
            "configmaps", "events", "persistentvolumeclaims", "replicationcontrollers",
            "replicationcontrollers/scale", "secrets", "serviceaccounts", "services",
            "services/proxy",
        ],
    ),
    ("apps", _APPS),
    ("autoscaling", ["horizontalpodautoscalers"]),
    ("batch", ["cronjobs", "jobs"]),
    ("policy", ["poddisruptionbudgets"]),
    ("networking.k8s.io", ["ingresses", "networkpolicies"]),
    ("coordination.k8s.io", ["leases"]),
]  # fmt: skip
_VIEWABLE = [
    (
        "",
        [
            "configmaps", "endpoints", "persistentvolumeclaims", "persistentvolumeclaims/status",
            "pods", "replicationcontrollers", "replicationcontrollers/scale", "serviceaccounts",
            "services", "services/status",
        ],
    ),
    (
        "",
        [
            "bindings", "events", "limitranges", "namespaces/status", "pods/log", "pods/status",
            "replicationcontrollers/status", "resourcequotas", "resourcequotas/status",
        ],
    ),
    ("", ["namespaces"]),
    ("discovery.k8s.io", ["endpointslices"]),
    (
        "apps",
        [
            "controllerrevisions", "daemonsets", "daemonsets/status", "deployments",
            "deployments/scale", "deployments/status", "replicasets", "replicasets/scale",
            "replicasets/status", "statefulsets", "statefulsets/scale", "statefulsets/status",
        ],
    ),
    ("autoscaling", ["horizontalpodautoscalers", "horizontalpodautoscalers/status"]),
    ("batch", ["cronjobs", "cronjobs/status", "jobs", "jobs/status"]),
    ("policy", ["poddisruptionbudgets", "poddisruptionbudgets/status"]),
    (
        "networking.k8s.io",
        ["ingresses", "ingresses/status", "networkpolicies"],
    ),
]  # fmt: skip


def objects() -> Iterator[Object]:
    """Every role and binding, roles first."""
    yield _role("cluster-admin", [_rule(["*"], "*", ["*"]), _paths(["*"], ["*"])])
    yield _role("system:discovery", [_paths(_DISCOVERY)])
    yield _role("system:public-info-viewer", [_paths(_PUBLIC)])
    yield _role("system:basic-user", [*_own_rights(), _who_am_i()])
    yield _role("system:monitoring", [_paths(_MONITORING)])
    yield _role("system:auth-delegator", _delegation())
    yield _role("system:service-account-issuer-discovery", [_paths(_ISSUER)])
    yield from _for_people()
    yield _binding("cluster-admin", "system:masters")
    yield _binding("system:discovery", "system:authenticated")
    yield _binding("system:public-info-viewer", *_ANYONE)
    yield _binding("system:basic-user", "system:authenticated")
    yield _binding("system:monitoring", "system:monitoring")
    yield _binding("system:service-account-issuer-discovery", "system:serviceaccounts")


def _for_people() -> Iterator[Object]:
    """view ⊂ edit ⊂ admin, each gathered from a role of its own and the smaller ones."""
    view = [_rule(_READ, group, names) for group, names in _VIEWABLE]
    edit = [
        _rule(_READ, "", ["pods/attach", "pods/exec", "pods/portforward", "pods/proxy", "secrets",
                          "services/proxy"]),
        _rule(["impersonate"], "", ["serviceaccounts"]),
        *(_rule(_WRITE, group, names) for group, names in _EDITABLE),
        _rule(["create"], "", ["pods/eviction", "serviceaccounts/token"]),
        _rule(_READ, "coordination.k8s.io", ["leases"]),
    ]  # fmt: skip
    admin = [
        _rule(["create"], "authorization.k8s.io", ["localsubjectaccessreviews"]),
        _rule(_ALL, GROUP, ["rolebindings", "roles"]),
    ]
    yield _role("system:aggregate-to-admin", admin, aggregate=["admin"])
    yield _role("system:aggregate-to-edit", edit, aggregate=["edit"])
    yield _role("system:aggregate-to-view", view, aggregate=["view"])
    yield _gathered("admin", [*admin, *edit, *view])
    yield _gathered("edit", [*edit, *view], aggregate=["admin"])
    yield _gathered("view", view, aggregate=["edit"])


def _own_rights() -> Iterator[Object]:
    yield _rule(
        ["create"],
        "authorization.k8s.io",
        ["selfsubjectaccessreviews", "selfsubjectrulesreviews"],
    )


def _who_am_i() -> Object:
    return _rule(["create"], "authentication.k8s.io", ["selfsubjectreviews"])


def _delegation() -> list[Object]:
    return [
        _rule(["create"], "authentication.k8s.io", ["tokenreviews"]),
        _rule(["create"], "authorization.k8s.io", ["subjectaccessreviews"]),
    ]


def _rule(verbs: list[str], group: str, resources: list[str]) -> Object:
    return {"apiGroups": [group], "resources": resources, "verbs": verbs}


def _paths(paths: list[str], verbs: list[str] | None = None) -> Object:
    return {"nonResourceURLs": paths, "verbs": verbs or ["get"]}


def _metadata(name: str) -> Object:
    return {
        "name": name,
        "labels": {"kubernetes.io/bootstrapping": "rbac-defaults"},
        "annotations": {"rbac.authorization.kubernetes.io/autoupdate": "true"},
    }


def _role(name: str, rules: list[Object], *, aggregate: list[str] | None = None) -> Object:
    meta = _metadata(name)
    for target in aggregate or ():
        meta["labels"][f"{_AGGREGATE}{target}"] = "true"
    return {"apiVersion": _API, "kind": "ClusterRole", "metadata": meta, "rules": rules}


def _gathered(name: str, rules: list[Object], *, aggregate: list[str] | None = None) -> Object:
    selector = {"matchLabels": {f"{_AGGREGATE}{name}": "true"}}
    role = _role(name, rules, aggregate=aggregate)
    return {**role, "aggregationRule": {"clusterRoleSelectors": [selector]}}


def _binding(role: str, *groups: str) -> Object:
    return {
        "apiVersion": _API,
        "kind": "ClusterRoleBinding",
        "metadata": _metadata(role),
        "roleRef": {"apiGroup": GROUP, "kind": "ClusterRole", "name": role},
        "subjects": [{"apiGroup": GROUP, "kind": "Group", "name": group} for group in groups],
    }
