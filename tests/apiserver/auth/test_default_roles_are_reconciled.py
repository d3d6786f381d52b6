"""Default roles and bindings at the next start: what is missing comes back, what is more stays."""

from inkube import APIServer

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
