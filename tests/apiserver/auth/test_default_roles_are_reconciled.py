"""Default roles and bindings at the next start: what is missing comes back, what is more stays."""

import hashlib
import json

import pytest

from inkube import APIServer
from inkube.apiserver.defaults.contents import roles

RBAC = "rbac.authorization.k8s.io/v1"
ROLE = "system:kube-scheduler"
SUBJECT = {"kind": "User", "name": "me", "apiGroup": "rbac.authorization.k8s.io"}


async def test_a_start_adds_what_default_roles_lack(tmp_path) -> None:
    options = {
        "data": tmp_path / "data.db", "authorization_mode": "RBAC", "modules": "none",
        "durable": False,
    }  # fmt: skip
    rule = {"verbs": ["get"], "apiGroups": ["example.com"], "resources": ["boats"]}
    async with APIServer(**options) as server:
        before = await server.client.get(f"{RBAC}/clusterroles", ROLE)
        patch = {"rules": [rule, *before["rules"][1:]], "metadata": {"labels": {"my": "label"}}}
        await server.client.patch(f"{RBAC}/clusterroles", ROLE, patch=patch)
        bindings = f"{RBAC}/clusterrolebindings"
        await server.client.patch(bindings, ROLE, patch={"subjects": [SUBJECT]})
        off = {"annotations": {"rbac.authorization.kubernetes.io/autoupdate": "false"}}
        for name in ("view", "system:discovery"):
            await server.client.patch(
                f"{RBAC}/clusterroles", name, patch={"metadata": off, "rules": []}
            )
        await server.client.delete(f"{RBAC}/clusterroles", "system:basic-user")
        users = [{**SUBJECT, "kind": "Group", "name": "system:authenticated"}]
        patch = {"metadata": off, "subjects": users}
        await server.client.patch(bindings, "system:discovery", patch=patch)
        await server.client.delete(bindings, "system:public-info-viewer")
    async with APIServer(**options) as server:
        role = await server.client.get(f"{RBAC}/clusterroles", ROLE)
        assert role["rules"][: len(before["rules"])] == [rule, *before["rules"][1:]]
        added = role["rules"][len(before["rules"]) :]
        lost = before["rules"][0]
        assert {verb for each in added for verb in each["verbs"]} == set(lost["verbs"])
        assert {one for each in added for one in each["resources"]} == set(lost["resources"])
        assert role["metadata"]["labels"]["my"] == "label"
        binding = await server.client.get(bindings, ROLE)
        assert [each["name"] for each in binding["subjects"]] == ["me", "system:kube-scheduler"]
        kept = await server.client.get(f"{RBAC}/clusterroles", "system:discovery")
        assert not kept.get("rules")
        assert await server.client.get(f"{RBAC}/clusterroles", "system:basic-user")
        copy = await server.client.get(bindings, "system:public-info-viewer")
        assert copy["subjects"] == users
        assert off["annotations"].items() <= copy["metadata"]["annotations"].items()
        assert copy["roleRef"]["name"] == "system:public-info-viewer"


PUBLISHED = {
    "clusterroles": (67, "451d84dd35e702e4"),
    "clusterrolebindings": (51, "1b416dd196eab88a"),
    "roles": (7, "b6fe795956a9747f"),
    "rolebindings": (7, "f97a75c0776c038b"),
}
"""Plural → the number of default objects of kube-apiserver 1.36.2, and a digest of them."""
AGGREGATED = ("admin", "edit", "view")


@pytest.mark.parametrize("plural", PUBLISHED)
def test_default_roles_are_those_of_kube_apiserver(plural: str) -> None:
    found = {}
    for kind, role in roles.objects(36):
        meta = role["metadata"]
        if kind == plural and meta["name"] not in AGGREGATED:
            members = {name: role.get(name) or [] for name in ("rules", "subjects", "roleRef")}
            name = f"{meta.get('namespace', '')}/{meta['name']}"
            found[name] = members | {"labels": meta["labels"]}
    digest = hashlib.sha256(json.dumps(found, sort_keys=True).encode()).hexdigest()
    assert (len(found), digest[:16]) == PUBLISHED[plural]
