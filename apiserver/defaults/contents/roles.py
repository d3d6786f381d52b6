"""The default roles and bindings of RBAC, read from `roles.txt`.

`admin`, `edit` and `view` aggregate the rules of other roles, and are complete from the start.
Follows plugin/pkg/auth/authorizer/rbac/bootstrappolicy (policy.go, controller_policy.go,
namespace_policy.go).
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

from inkube.schemas import releases
from inkube.schemas.objects import Object

GROUP = "rbac.authorization.k8s.io"
_DATA = Path(__file__).with_name("roles.txt")
_API = f"{GROUP}/v1"
_AGGREGATE = f"{GROUP}/aggregate-to-"
_CONTROLLER = "system:controller:"
_SYSTEM = "kube-system"
_AGGREGATED_ROLES = ("view", "edit", "admin")
"""Aggregated roles, in an order in which each follows the roles that it aggregates."""
_GROUPS = {
    "cluster-admin": ("system:masters",),
    "system:basic-user": ("system:authenticated",),
    "system:discovery": ("system:authenticated",),
    "system:monitoring": ("system:monitoring",),
    "system:node": (),
    "system:public-info-viewer": ("system:authenticated", "system:unauthenticated"),
    "system:service-account-issuer-discovery": ("system:serviceaccounts",),
}
_USERS = {
    "system:kube-controller-manager": "system:kube-controller-manager",
    "system:kube-scheduler": "system:kube-scheduler",
    "system:node-proxier": "system:kube-proxy",
    "system:volume-scheduler": "system:kube-scheduler",
}
_LEADERS = ("kube-controller-manager", "kube-scheduler")
_READ_VERBS = ("get", "list", "watch")
_ELECTION_VERBS = ("create", "get", "list", "update", "watch")
_EVENTS = ("create", "patch", "update")


def objects(minor: int = releases.NEWEST.minor) -> Iterator[tuple[str, Object]]:
    """Yield each role and binding of a minor, with the plural of its kind. Objects in namespaces
    name their namespace."""
    roles = _read(minor)
    for name in _AGGREGATED_ROLES:
        _gather(roles, name)
    for role in roles.values():
        yield "clusterroles", role
    for name in roles:
        if name.startswith(_CONTROLLER):
            account = _account(name.removeprefix(_CONTROLLER))
            yield "clusterrolebindings", _binding(name, [account])
    for name, groups in _GROUPS.items():
        yield "clusterrolebindings", _binding(name, [_subject("Group", one) for one in groups])
    for name, user in _USERS.items():
        yield "clusterrolebindings", _binding(name, [_subject("User", user)])
    yield "clusterrolebindings", _binding("system:kube-dns", [_account("kube-dns")])
    yield from _in_namespaces(minor)


def rules(name: str, minor: int) -> Sequence[Object]:
    """Return the rules of a ClusterRole of a minor, which aggregates no others."""
    found: Sequence[Object] = _read(minor)[name]["rules"]
    return found


def _read(minor: int) -> dict[str, Object]:
    roles: dict[str, Object] = {}
    rules: list[Object] = []
    for line in _DATA.read_text(encoding="utf-8").splitlines():
        if line.startswith("#"):
            continue
        words = line.split()
        is_served = words[-1][0] != "[" or releases.holds(words.pop().strip("[]"), minor)
        if not is_served and line.startswith(" "):
            continue
        if line.startswith(" "):
            rules.append(_rule(words))
            continue
        name, *targets = words
        rules = []
        role: Object = {"apiVersion": _API, "kind": "ClusterRole", "metadata": _metadata(name)}
        for target in targets:
            role["metadata"]["labels"][f"{_AGGREGATE}{target}"] = "true"
        if is_served:
            roles[name] = {**role, "rules": rules}
    return roles


def _rule(words: list[str]) -> Object:
    verbs, groups, targets, *names = (word.split(",") for word in words)
    if groups == ["url"]:
        return {"verbs": verbs, "nonResourceURLs": targets}
    rule: Object = {"verbs": verbs, "apiGroups": ["" if one == "-" else one for one in groups]}
    rule["resources"] = targets
    if names:
        rule["resourceNames"] = names[0]
    return rule


def _gather(roles: dict[str, Object], name: str) -> None:
    """Give a role the rules of all roles with its aggregation label."""
    label = f"{_AGGREGATE}{name}"
    rules: list[Object] = []
    for role in roles.values():
        if label in role["metadata"]["labels"]:
            rules += [rule for rule in role["rules"] if rule not in rules]
    selector = {"matchLabels": {label: "true"}}
    roles[name] |= {"aggregationRule": {"clusterRoleSelectors": [selector]}, "rules": rules}


def _metadata(name: str, namespace: str = "") -> Object:
    meta: Object = {"name": name}
    if namespace:
        meta["namespace"] = namespace
    meta["labels"] = {"kubernetes.io/bootstrapping": "rbac-defaults"}
    meta["annotations"] = {"rbac.authorization.kubernetes.io/autoupdate": "true"}
    return meta


def _subject(kind: str, name: str) -> Object:
    return {"kind": kind, "apiGroup": GROUP, "name": name}


def _account(name: str) -> Object:
    return {"kind": "ServiceAccount", "name": name, "namespace": _SYSTEM}


def _binding(role: str, subjects: list[Object]) -> Object:
    binding = {
        "apiVersion": _API,
        "kind": "ClusterRoleBinding",
        "metadata": _metadata(role),
        "roleRef": {"apiGroup": GROUP, "kind": "ClusterRole", "name": role},
    }
    return {**binding, "subjects": subjects} if subjects else binding


def _in_namespaces(minor: int) -> Iterator[tuple[str, Object]]:
    reader = "extension-apiserver-authentication-reader"
    authentication_reader = _core_rule(
        _READ_VERBS, "configmaps", "extension-apiserver-authentication"
    )
    users = [_subject("User", f"system:{name}") for name in _LEADERS]
    yield from _own(reader, _SYSTEM, [authentication_reader], users, binding=f"system::{reader}")
    for name in _LEADERS:
        rules = [
            {
                "verbs": [*_ELECTION_VERBS],
                "apiGroups": ["coordination.k8s.io"],
                "resources": [plural],
            }
            for plural in ("leases", "leasecandidates")
        ]
        subjects = [_subject("User", f"system:{name}"), _account(name)]
        if name == _LEADERS[0] and releases.holds("1.36..", minor):
            subjects.append(_account("leader-election-controller"))
        yield from _own(f"system::leader-locking-{name}", _SYSTEM, rules, subjects)
    signer = [_account("bootstrap-signer")]
    events = {"verbs": [*_EVENTS], "apiGroups": ["", "events.k8s.io"], "resources": ["events"]}
    name = f"{_CONTROLLER}bootstrap-signer"
    yield from _own(name, _SYSTEM, [_core_rule(_READ_VERBS, "secrets")], signer)
    public = [
        _core_rule(_READ_VERBS, "configmaps"),
        _core_rule(["update"], "configmaps", "cluster-info"),
        events,
    ]
    yield from _own(name, "kube-public", public, signer)
    provider = [_core_rule(["create", *_READ_VERBS], "configmaps")]
    subjects = [_account("cloud-provider")]
    yield from _own(f"{_CONTROLLER}cloud-provider", _SYSTEM, provider, subjects)
    cleaner = [_core_rule(["delete", *_READ_VERBS], "secrets"), events]
    subjects = [_account("token-cleaner")]
    yield from _own(f"{_CONTROLLER}token-cleaner", _SYSTEM, cleaner, subjects)


def _core_rule(verbs: list[str] | tuple[str, ...], plural: str, *names: str) -> Object:
    rule: Object = {"verbs": [*verbs], "apiGroups": [""], "resources": [plural]}
    return {**rule, "resourceNames": [*names]} if names else rule


def _own(
    name: str, namespace: str, rules: list[Object], subjects: list[Object], *, binding: str = ""
) -> Iterator[tuple[str, Object]]:
    """Yield a role in a namespace and its binding."""
    meta = _metadata(name, namespace)
    yield "roles", {"apiVersion": _API, "kind": "Role", "metadata": meta, "rules": rules}
    yield (
        "rolebindings",
        {
            "apiVersion": _API,
            "kind": "RoleBinding",
            "metadata": _metadata(binding or name, namespace),
            "roleRef": {"apiGroup": GROUP, "kind": "Role", "name": name},
            "subjects": subjects,
        },
    )
