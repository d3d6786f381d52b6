"""The settings that the provisioning page requests first."""

import aiohttp
import pytest
from worlds import repository


@pytest.fixture
async def server(provisioned):
    """A server with the default limit."""
    async with provisioned(max_repositories=10) as made:
        yield made


GROUP = "/apis/provisioning.grafana.app"
COMMON = {
    "kind": "RepositoryViewList",
    "allowedTargets": ["folder", "instance", "folderless"],
    "allowImageRendering": False,
    "maxRepositories": 10,
    "availableRepositoryTypes": [
        "local", "github", "githubEnterprise", "git", "bitbucket", "gitlab",
    ],
    "availableConnectionTypes": [
        "github", "githubEnterprise", "githubOAuth", "githubEnterpriseOAuth", "gitlab", "bitbucket",
    ],
    "availableResources": [
        {"group": "dashboard.grafana.app", "kind": "Dashboard"},
        {"group": "folder.grafana.app", "kind": "Folder"},
    ],
}  # fmt: skip


@pytest.mark.parametrize("version", ["v0alpha1", "v1beta1"])
async def test_a_namespace_without_repositories_has_settings_too(server, version):
    code, _, body = await server.request("GET", f"{GROUP}/{version}/namespaces/ns/settings")
    assert code == 200
    assert body == {**COMMON, "apiVersion": f"provisioning.grafana.app/{version}", "items": []}


async def test_every_repository_is_shown_without_its_secrets(server):
    await server.create(
        repository(
            "b",
            block={"path": "dashboards"},
            secure={"token": {"create": "hunter2"}},
            sync={"enabled": False, "target": "folder"},
            workflows=["write"],
            commit={"singleResourceMessageTemplate": "change"},
            branch={"nameTemplate": "x"},
            pullRequest={"titleTemplate": "y"},
        )
    )
    await server.create(repository("a"))
    _, _, body = await server.request("GET", f"{GROUP}/v0alpha1/namespaces/ns/settings")
    first, second = body["items"]
    place = {"url": "https://github.com/grafana/grafana", "branch": "main"}
    assert first == {
        "name": "a", "title": "Title", "type": "github", "target": "", "workflows": [], **place,
    }  # fmt: skip
    assert second == {
        **first, "name": "b", "target": "folder", "path": "dashboards", "workflows": ["write"],
        "commit": {"singleResourceMessageTemplate": "change"},
        "branchOptions": {"nameTemplate": "x"}, "pullRequest": {"titleTemplate": "y"},
    }  # fmt: skip


@pytest.mark.parametrize(
    ("method", "path", "code"),
    [
        ("POST", "namespaces/ns/settings", 405),
        ("PUT", "namespaces/ns/settings", 405),
        ("DELETE", "namespaces/ns/settings", 405),
        ("GET", "namespaces/ns/settings/x", 404),
        ("GET", "settings", 404),
    ],
)
async def test_settings_can_only_be_read(server, method, path, code):
    url = f"{server.api.url}{GROUP}/v0alpha1/{path}"
    async with aiohttp.ClientSession() as http, http.request(method, url) as answer:
        assert answer.status == code


@pytest.mark.parametrize("query", ["", "?dryRun=All"])
async def test_a_namespace_has_so_many_repositories_at_most(provisioned, query):
    async with provisioned(max_repositories=2) as server:
        for name in ("a", "b"):
            await server.create(repository(name))
        path = f"{GROUP}/v0alpha1/namespaces/ns/repositories"
        code, _, refused = await server.request("POST", f"{path}{query}", json=repository("c"))
        assert code == 422
        [cause] = refused["details"]["causes"]
        assert (cause["type"], cause["field"]) == ("FieldValueForbidden", "spec")
        assert cause["message"] == "Forbidden: Maximum number of 2 repositories reached"
        await server.delete("repositories", "a")
        await server.create(repository("c"))


async def test_a_repository_that_is_being_deleted_is_not_listed(server):
    await server.create(repository())
    await server.delete("repositories", "a")
    _, _, body = await server.request("GET", f"{GROUP}/v0alpha1/namespaces/ns/settings")
    assert body["items"] == []
