"""ClusterRoles of viewers, editors and admins, on a server with RBAC."""

import pytest
from worlds import PROVISIONING, host, repository

ALL = f"/apis/{PROVISIONING}/namespaces/ns"
NAMES = [f"grafana:provisioning:{name}" for name in ("admin", "editor", "viewer")]


def binding(role):
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": role},
        "roleRef": {
            "apiGroup": "rbac.authorization.k8s.io",
            "kind": "ClusterRole",
            "name": f"grafana:provisioning:{role}",
        },
        "subjects": [{"kind": "User", "name": role, "apiGroup": "rbac.authorization.k8s.io"}],
    }


@pytest.fixture
async def ask(provisioned, tmp_path):
    """`await ask(role, method, path, body)`: returns the code."""
    tokens = tmp_path / "tokens.csv"
    tokens.write_text("".join(f"{role},{role},{role}\n" for role in ("viewer", "editor", "admin")))
    async with provisioned(token_auth_file=tokens, authorization_mode="RBAC") as server:
        await server.create(host())
        await server.create(repository(block={"path": "a"}))
        for role in ("viewer", "editor", "admin"):
            await server.create(binding(role))
        await server.settled()

        async def request(role, method, path, body=None):
            headers = {"Authorization": f"Bearer {role}"}
            code, _, _ = await server.request(method, f"{ALL}/{path}", headers=headers, json=body)
            return code

        yield request


ROWS = [
    ("GET", "repositories", None, "viewer"),
    ("GET", "repositories/a", None, "viewer"),
    ("GET", "settings", None, "viewer"),
    ("GET", "repositories/a/refs", None, "editor"),
    ("GET", "repositories/a/files/", None, "editor"),
    ("GET", "repositories/a/jobs", None, "editor"),
    ("GET", "jobs", None, "editor"),
    ("GET", "repositories/a/resources", None, "admin"),
    ("GET", "repositories/a/history", None, "admin"),
    ("GET", "stats", None, "admin"),
    ("GET", "historicjobs", None, "admin"),
    ("GET", "connections", None, "admin"),
    ("POST", "repositories?dryRun=All", repository("b", block={"path": "b"}), "admin"),
]
ORDER = ("viewer", "editor", "admin")


@pytest.mark.parametrize(
    ("method", "path", "body", "least"), ROWS, ids=[f"{row[0]} {row[1]}" for row in ROWS]
)
async def test_each_role_may_do_so_much(ask, method, path, body, least):
    codes = [await ask(role, method, path, body) for role in ORDER]
    allowed = ORDER.index(least)
    assert codes[:allowed] == [403] * allowed
    assert all(code in (200, 201) for code in codes[allowed:])


async def test_without_authorization_there_are_none(server):
    roles = await server.client.list("rbac.authorization.k8s.io/v1/clusterroles")
    assert not [each for each in roles.items if each["metadata"]["name"] in NAMES]
