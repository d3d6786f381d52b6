"""exec, attach and port-forward by GET need the right to create the subresource as well."""

from typing import Any

import pytest

ROLES = "/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles"
POD = {
    "metadata": {"name": "p"},
    "spec": {"containers": [{"name": "c", "image": "i"}], "serviceAccountName": "default"},
}


async def may(ask: Any, verbs: list[str]) -> None:
    """Allow the plain user these verbs on the subresources of pods, and nothing else."""
    resources = [f"pods/{name}" for name in ("exec", "attach", "portforward")]
    role = {
        "metadata": {"name": "streams"},
        "rules": [{"apiGroups": [""], "resources": resources, "verbs": verbs}],
    }
    binding = {
        "metadata": {"name": "streams"},
        "subjects": [
            {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "plain-user"}
        ],
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "streams"},
    }
    assert (await ask("POST", ROLES, role))[0] == 201
    assert (await ask("POST", ROLES.replace("roles", "rolebindings"), binding))[0] == 201


@pytest.mark.parametrize("subresource", ["exec", "attach", "portforward"])
@pytest.mark.parametrize("upgrade", [False, True])
async def test_permission_to_get_a_stream_is_not_enough(ask: Any, subresource: str, upgrade: bool):
    await may(ask, ["get"])
    assert (await ask("POST", "/api/v1/namespaces/default/pods", POD))[0] == 201
    headers = {"Connection": "Upgrade", "Upgrade": "websocket"} if upgrade else {}
    path = f"/api/v1/namespaces/default/pods/p/{subresource}"
    code, body = await ask("GET", path, token="user-token", headers=headers)
    assert (code, body["message"]) == (
        403,
        (
            f'pods "p" is forbidden: User "plain-user" cannot create resource "pods/{subresource}" '
            'in API group "" in the namespace "default"'
        ),
    )


@pytest.mark.parametrize("subresource", ["exec", "attach", "portforward"])
async def test_permission_to_create_a_stream_is_needed_too(ask: Any, subresource: str) -> None:
    await may(ask, ["get", "create"])
    assert (await ask("POST", "/api/v1/namespaces/default/pods", POD))[0] == 201
    path = f"/api/v1/namespaces/default/pods/p/{subresource}"
    code, body = await ask("GET", path, token="user-token")
    assert (code, body["message"]) == (400, "pod p does not have a host assigned")
