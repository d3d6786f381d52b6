"""Escalation is refused: roles and bindings cannot grant more than their author has. Aggregated
roles."""

RBAC = "/apis/rbac.authorization.k8s.io/v1"
GROUP = "rbac.authorization.k8s.io"
PODS = {"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list"]}
WRITE_ROLES = {
    "apiGroups": [GROUP],
    "resources": ["clusterroles", "clusterrolebindings"],
    "verbs": ["create", "update", "get"],
}
BIND = {"apiGroups": [GROUP], "resources": ["clusterroles"], "verbs": ["bind"]}
ESCALATE = {**BIND, "verbs": ["escalate"]}


def role(name: str, *rules, **more):
    labels = more.pop("labels", {})
    return {
        "apiVersion": f"{GROUP}/v1",
        "kind": "ClusterRole",
        "metadata": {"name": name, "labels": labels},
        "rules": list(rules),
        **more,
    }


def binding(name: str, to: str, user: str = "plain-user"):
    return {
        "apiVersion": f"{GROUP}/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": name},
        "roleRef": {"kind": "ClusterRole", "name": to},
        "subjects": [{"kind": "User", "name": user}],
    }


async def grant(ask, *rules) -> None:
    """Give plain-user these rules."""
    assert (await ask("POST", f"{RBAC}/clusterroles", role("given", *rules)))[0] == 201
    code, _ = await ask("POST", f"{RBAC}/clusterrolebindings", binding("given", "given"))
    assert code == 201


async def test_a_role_with_no_more_rights_than_its_author_is_accepted(ask) -> None:
    await grant(ask, WRITE_ROLES, PODS)
    code, _ = await ask("POST", f"{RBAC}/clusterroles", role("mine", PODS), token="user-token")
    assert code == 201


async def test_missing_rules_are_named_joined_and_sorted(ask) -> None:
    await grant(ask, WRITE_ROLES, PODS)
    more = {"apiGroups": ["", "apps"], "resources": ["pods"], "verbs": ["get", "watch", "delete"]}
    code, body = await ask("POST", f"{RBAC}/clusterroles", role("more", more), token="user-token")
    assert code == 403
    assert body["message"].splitlines()[1:] == [
        '{APIGroups:[""], Resources:["pods"], Verbs:["watch" "delete"]}',
        '{APIGroups:["apps"], Resources:["pods"], Verbs:["get" "watch" "delete"]}',
    ]


async def test_the_verb_escalate_lifts_the_limit(ask) -> None:
    await grant(ask, WRITE_ROLES, ESCALATE)
    code, _ = await ask("POST", f"{RBAC}/clusterroles", role("more", PODS), token="user-token")
    assert code == 201


async def test_a_binding_takes_the_roles_rights_or_the_verb_bind(ask) -> None:
    await grant(ask, WRITE_ROLES)
    path = f"{RBAC}/clusterrolebindings"
    wanted = binding("all", "cluster-admin")
    assert (await ask("POST", path, wanted, token="user-token"))[0] == 403
    assert (await ask("POST", path, binding("no", "nothing"), token="user-token"))[0] == 404
    await ask("POST", f"{RBAC}/clusterroles", role("binder", BIND))
    await ask("POST", path, binding("binder", "binder"))
    assert (await ask("POST", path, wanted, token="user-token"))[0] == 201


async def test_a_binding_to_what_no_role_can_be_is_invalid(ask) -> None:
    await grant(ask, WRITE_ROLES)
    path, found = f"{RBAC}/clusterrolebindings", {}
    for kind, name in (("ClusterRole", ""), ("ClusterRole", "a/b"), ("Role", "a")):
        body = {**binding("b", name), "roleRef": {"kind": kind, "name": name}}
        code, answer = await ask("POST", path, body, token="user-token")
        assert code == 400
        found[kind, name] = answer["message"]
    assert [*found.values()] == [
        "Name parameter required.",
        """Name parameter invalid: "a/b": may not contain '/'""",
        "Namespace parameter required.",
    ]


async def test_only_administrators_aggregate_roles(ask) -> None:
    await grant(ask, WRITE_ROLES, PODS)
    gathers = {"clusterRoleSelectors": [{"matchLabels": {"part": "yes"}}]}
    whole = role("whole", aggregationRule=gathers)
    code, body = await ask("POST", f"{RBAC}/clusterroles", whole, token="user-token")
    assert code == 403
    assert body["message"].endswith("must have cluster-admin privileges to use the aggregationRule")


async def test_an_update_is_checked_too(ask) -> None:
    await grant(ask, WRITE_ROLES)
    path = f"{RBAC}/clusterroles/given"
    changed = role("given", WRITE_ROLES, PODS)
    assert (await ask("PUT", path, changed, token="user-token"))[0] == 403


async def test_an_apply_that_creates_takes_the_right_to_create(ask) -> None:
    config_maps = {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["patch", "get"]}
    await grant(ask, config_maps)
    path = "/api/v1/namespaces/default/configmaps/a?fieldManager=me"
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}
    apply = {"Content-Type": "application/apply-patch+yaml"}
    code, answer = await ask("PATCH", path, body, token="user-token", headers=apply)
    assert code == 403
    assert 'cannot create resource "configmaps"' in answer["message"]
    assert (await ask("PATCH", path, body, headers=apply))[0] == 201
    assert (await ask("PATCH", path, body, token="user-token", headers=apply))[0] == 200


async def test_rights_are_checked_before_policies(ask) -> None:
    await grant(ask, {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["patch", "get"]})
    admission = "admissionregistration.k8s.io/v1"
    rule = {
        "apiGroups": [""],
        "apiVersions": ["*"],
        "operations": ["*"],
        "resources": ["configmaps"],
    }
    policy = {
        "apiVersion": admission,
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": "never"},
        "spec": {
            "matchConstraints": {"resourceRules": [rule]},
            "validations": [{"expression": "false", "message": "never"}],
        },
    }
    bound = {"policyName": "never", "validationActions": ["Deny"]}
    binding = {**policy, "kind": "ValidatingAdmissionPolicyBinding", "spec": bound}
    await ask.server.client.create(policy)
    await ask.server.client.create(binding)
    path = "/api/v1/namespaces/default/configmaps/a?fieldManager=me"
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}
    apply = {"Content-Type": "application/apply-patch+yaml"}
    _, answer = await ask("PATCH", path, body, token="user-token", headers=apply)
    assert 'cannot create resource "configmaps"' in answer["message"]
    _, answer = await ask("PATCH", path, body, headers=apply)
    assert answer["message"].endswith("denied request: never")


async def test_aggregated_roles_have_the_rules_of_the_selected_roles(ask) -> None:
    gathers = {"clusterRoleSelectors": [{"matchLabels": {"part": "yes"}}]}
    server = ask.server
    await server.client.create(role("part", PODS, labels={"part": "yes"}))
    await server.client.create(role("whole", aggregationRule=gathers))
    await server.settled()
    gathered = await server.client.get("rbac.authorization.k8s.io/v1/clusterroles", "whole")
    assert gathered["rules"] == [PODS]
    await server.client.delete("rbac.authorization.k8s.io/v1/clusterroles", "part")
    await server.settled()
    gathered = await server.client.get("rbac.authorization.k8s.io/v1/clusterroles", "whole")
    assert not gathered["rules"]


async def test_the_default_roles_for_users_are_aggregated(ask) -> None:
    before = await ask.server.client.get("rbac.authorization.k8s.io/v1/clusterroles", "admin")
    await ask.server.settled()
    after = await ask.server.client.get("rbac.authorization.k8s.io/v1/clusterroles", "admin")
    assert len(after["rules"]) >= len(before["rules"]) > 20
