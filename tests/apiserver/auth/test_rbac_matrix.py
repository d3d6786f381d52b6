"""Decisions of RBAC for thirty rules, many users and every action, compared with a small model."""

import itertools
import random
from collections.abc import AsyncIterator

import pytest

from inkube.apiserver.auth.attributes import Attributes
from inkube.apiserver.auth.rbac import GROUP, RBAC
from inkube.apiserver.registry import User
from inkube.apiserver.registry.codec import JSONCodec
from inkube.storage.log import MemoryLog
from inkube.storage.store import Store

VERBS = ("get", "list", "create", "delete", "bind")
RESOURCES = ("pods", "secrets", "widgets")
SUBRESOURCES = ("", "status", "log")
GROUPS = ("", "apps", "example.com")
NAMES = ("", "a", "b")
NAMESPACES = ("", "one", "two")
PATHS = ("/healthz", "/apis", "/apis/apps", "/logs/x")
USERS = (
    User("jane", groups=("devs", "system:authenticated")),
    User("tom", groups=("ops",)),
    User("system:serviceaccount:one:bot", groups=("system:serviceaccounts",)),
    User("root", groups=("system:masters",)),
    User("nobody"),
)
SUBJECTS = (
    {"kind": "User", "name": "jane"},
    {"kind": "Group", "name": "devs"},
    {"kind": "Group", "name": "ops"},
    {"kind": "ServiceAccount", "name": "bot", "namespace": "one"},
    {"kind": "ServiceAccount", "name": "bot", "namespace": "two"},
    {"kind": "Group", "name": "system:authenticated"},
)


def some(chooser: random.Random, values: tuple[str, ...]) -> list[str]:
    picked = [value for value in values if chooser.random() < 0.4]
    if chooser.random() < 0.15:
        picked.append("*")
    return picked or [chooser.choice(values)]


def a_rule(chooser: random.Random, *, namespaced: bool) -> dict[str, list[str]]:
    if not namespaced and chooser.random() < 0.3:
        urls = (*PATHS, "/apis/*", "*")
        return {"verbs": some(chooser, VERBS), "nonResourceURLs": some(chooser, urls)}
    resources = (*RESOURCES, "pods/status", "*/log", "widgets/log")
    rule = {
        "verbs": some(chooser, VERBS),
        "apiGroups": some(chooser, GROUPS),
        "resources": some(chooser, resources),
    }
    if chooser.random() < 0.3:
        rule["resourceNames"] = [chooser.choice(NAMES[1:])]
    return rule


def bindings(seed: int) -> list[tuple[str, dict[str, str], dict[str, list[str]]]]:
    """Return thirty tuples of (namespace or "" for the cluster, subject, rule)."""
    chooser = random.Random(seed)
    made = []
    for number in range(30):
        namespace = NAMESPACES[number % 3]
        rule = a_rule(chooser, namespaced=bool(namespace))
        made.append((namespace, chooser.choice(SUBJECTS), rule))
    return made


def model_allows(granted, wanted: Attributes) -> bool:
    """Return a model of RBAC: whether a binding here, for this user, has a rule that matches."""
    if "system:masters" in wanted.user.groups:
        return True
    return any(
        where in ("", wanted.namespace)
        and names(subject, wanted.user)
        and (fits_path if wanted.path else fits_resource)(rule, wanted)
        for where, subject, rule in granted
    )


def names(subject: dict[str, str], user: User) -> bool:
    if subject["kind"] == "ServiceAccount":
        return user.name == f"system:serviceaccount:{subject['namespace']}:{subject['name']}"
    return subject["name"] in (user.groups if subject["kind"] == "Group" else (user.name,))


def fits_path(rule, wanted: Attributes) -> bool:
    patterns = rule.get("nonResourceURLs", [])
    found = any(
        wanted.path.startswith(pattern[:-1]) if pattern.endswith("*") else wanted.path == pattern
        for pattern in patterns
    )
    return found and bool({"*", wanted.verb} & set(rule["verbs"]))


def fits_resource(rule, wanted: Attributes) -> bool:
    full = wanted.resource + (f"/{wanted.subresource}" if wanted.subresource else "")
    accepted = {"*", full} | ({f"*/{wanted.subresource}"} if wanted.subresource else set())
    return (
        bool({"*", wanted.verb} & set(rule["verbs"]))
        and bool({"*", wanted.group} & set(rule.get("apiGroups", [])))
        and bool(accepted & set(rule.get("resources", [])))
        and wanted.name in rule.get("resourceNames", [wanted.name])
    )


def actions(user: User):
    for verb, resource, sub, group, name, namespace in itertools.product(
        VERBS, RESOURCES, SUBRESOURCES, GROUPS, NAMES, NAMESPACES
    ):
        yield Attributes(user, verb, group, "v1", resource, sub, namespace, name)
    for verb, path in itertools.product(VERBS, PATHS):
        yield Attributes(user, verb, path=path, is_resource=False)


@pytest.fixture
async def store() -> AsyncIterator[Store]:
    async with Store(MemoryLog(), JSONCodec()) as store:
        yield store


async def put(store: Store, granted) -> None:
    for number, (namespace, subject, rule) in enumerate(granted):
        name = f"r{number}"
        place = f"/{namespace}" if namespace else ""
        roles, holders = (
            ("roles", "rolebindings") if namespace else ("clusterroles", "clusterrolebindings")
        )
        meta = {"name": name, "uid": name, **({"namespace": namespace} if namespace else {})}
        reference = {
            "apiGroup": GROUP,
            "kind": "Role" if namespace else "ClusterRole",
            "name": name,
        }
        await store.create(
            f"/registry/{roles}{place}/{name}", {"metadata": dict(meta), "rules": [rule]}
        )
        binding = {"metadata": dict(meta), "roleRef": reference, "subjects": [subject]}
        await store.create(f"/registry/{holders}{place}/{name}", binding)


@pytest.mark.parametrize("seed", range(4))
async def test_every_decision_of_rbac_is_the_one_of_the_model(store: Store, seed: int) -> None:
    granted = bindings(seed)
    await put(store, granted)
    authorizer = RBAC(store)
    wrong = [
        wanted
        for user in USERS
        for wanted in actions(user)
        if authorizer.decide(wanted).allowed != model_allows(granted, wanted)
    ]
    assert wrong == []


async def test_a_deleted_binding_takes_its_rights_along(store: Store) -> None:
    rule = {"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}
    await put(store, [("one", SUBJECTS[0], rule)])
    authorizer = RBAC(store)
    wanted = Attributes(USERS[0], "get", resource="pods", namespace="one")
    assert authorizer.decide(wanted).allowed
    entry = store.get("/registry/rolebindings/one/r0")
    assert entry is not None
    await store.delete(entry.key, entry.revision)
    assert not authorizer.decide(wanted).allowed


async def test_a_binding_without_its_role_is_named_in_the_refusal(store: Store) -> None:
    rule = {"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}
    await put(store, [("", SUBJECTS[0], rule)])
    entry = store.get("/registry/clusterroles/r0")
    assert entry is not None
    await store.delete(entry.key, entry.revision)
    decision = RBAC(store).decide(Attributes(USERS[0], "get", resource="pods"))
    assert decision.reason == f'RBAC: clusterrole.{GROUP} "r0" not found'
