"""v0alpha1 and v1beta1: one object in two versions; discovery; the name `jobs` in two groups."""

import asyncio
import json
import shutil

import pytest
from patience import SECONDS
from worlds import host, repository

GROUP = "provisioning.grafana.app"
SUBRESOURCES = {
    "repositories/status",
    "repositories/files",
    "repositories/refs",
    "repositories/resources",
    "repositories/history",
    "repositories/jobs",
    "repositories/webhook",
    "connections/status",
    "connections/repositories",
    "connections/authorize",
    "jobs/status",
}


def path(version, rest):
    return f"/apis/{GROUP}/{version}/namespaces/ns/{rest}"


async def test_both_versions_are_served_and_the_first_is_preferred(server):
    _, _, group = await server.request("GET", f"/apis/{GROUP}")
    assert [each["version"] for each in group["versions"]] == ["v0alpha1", "v1beta1"]
    assert group["preferredVersion"]["version"] == "v0alpha1"


@pytest.mark.parametrize("version", ["v0alpha1", "v1beta1"])
async def test_discovery_lists_kinds_and_subresources(server, version):
    _, _, listed = await server.request("GET", f"/apis/{GROUP}/{version}")
    names = {each["name"] for each in listed["resources"]}
    assert names >= {"repositories", "connections", "jobs", *SUBRESOURCES}
    assert ("historicjobs" in names) == (version == "v0alpha1")
    assert not {name for name in names if name.startswith(("settings", "stats"))}


@pytest.mark.parametrize("version", ["v0alpha1", "v1beta1"])
async def test_openapi_has_both_versions(server, version):
    code, _, document = await server.request("GET", f"/openapi/v3/apis/{GROUP}/{version}")
    assert code == 200
    assert f"/apis/{GROUP}/{version}/namespaces/{{namespace}}/repositories" in document["paths"]
    kinds = {name.rpartition(".")[2] for name in document["components"]["schemas"]}
    assert {"Repository", "Connection", "Job"} <= kinds


@pytest.mark.parametrize(("written", "read"), [("v0alpha1", "v1beta1"), ("v1beta1", "v0alpha1")])
async def test_what_is_written_in_one_is_read_in_the_other(server, written, read):
    await server.create(host())
    obj = repository(pullRequest={"titleTemplate": "x"}, commit={"signingMethod": "gpg"})
    del obj["apiVersion"]
    code, _, made = await server.request("POST", path(written, "repositories"), json=obj)
    assert (code, made["apiVersion"]) == (201, f"{GROUP}/{written}")
    await server.settled()
    _, _, found = await server.request("GET", path(read, "repositories/a"))
    assert found["apiVersion"] == f"{GROUP}/{read}"
    assert found["spec"] == made["spec"]
    assert found["status"]["health"]["healthy"] is True
    [own] = [each for each in found["metadata"]["managedFields"] if "subresource" not in each]
    assert own["apiVersion"] == f"{GROUP}/{written}"
    _, _, listed = await server.request("GET", path(read, "repositories"))
    assert [each["apiVersion"] for each in listed["items"]] == [f"{GROUP}/{read}"]


async def kubectl(server, tmp_path, *arguments):
    found = shutil.which("kubectl")
    if found is None:
        pytest.skip("kubectl is not installed")
    config = tmp_path / "kubeconfig"
    config.write_text(server.api.kubeconfig())
    process = await asyncio.create_subprocess_exec(
        found, f"--kubeconfig={config}", f"--cache-dir={tmp_path}", *arguments,
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    told, complaints = await asyncio.wait_for(process.communicate(), SECONDS)
    assert process.returncode == 0, (told + complaints).decode()
    return told.decode()


async def test_kubectl_still_gets_jobs_of_batch(server, tmp_path):
    job = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "b", "namespace": "ns"},
        "spec": {
            "template": {
                "spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}
            }
        },
    }
    await server.client.create(job)
    told = json.loads(await kubectl(server, tmp_path, "get", "jobs", "-n", "ns", "-o", "json"))
    assert [each["apiVersion"] for each in told["items"]] == ["batch/v1"]
    for version in ("v0alpha1", "v1beta1"):
        named = f"--api-version={GROUP}/{version}"
        told = await kubectl(server, tmp_path, "explain", "repository.spec.sync", named)
        assert f"VERSION:    {version}" in told
        assert "intervalSeconds" in told


async def test_a_protected_branch_of_the_world(server):
    own = {"path": "grafana/grafana", "branches": ["main"], "protectedBranches": ["main"]}
    await server.create(host(repositories=[own]))
    secure = {"token": {"create": "x"}}
    [cause] = await server.dry_run(repository(workflows=["write"], secure=secure))
    assert cause["field"] == "spec.workflows"
    assert "main has protection rules that prevent direct pushes" in cause["message"]
    assert await server.dry_run(repository(workflows=["branch"], secure=secure)) == []


async def test_a_repository_without_branches_is_reported(server):
    await server.create(host(repositories=[{"path": "grafana/grafana"}]))
    [cause] = await server.dry_run(repository())
    assert cause["message"].endswith(
        "repository has no branches; push at least one commit before configuring sync"
    )


async def test_the_world_shows_webhooks_until_their_repository_is_deleted(server):
    await server.create(host())
    sync = {"enabled": True, "target": "folder"}
    hook = {"baseUrl": "https://grafana.example.com"}
    await server.create(repository(sync=sync, webhook=hook))
    await server.settled()
    stored = await server.get("repositories")
    kept = (await server.client.get("world.inkube.dev/v1/githosts", "github.com"))["status"]
    assert kept["webhooks"] == [
        {"repository": "grafana/grafana", "id": 1, "url": stored["status"]["webhook"]["url"]}
    ]
    await server.delete("repositories", "a")
    await server.settled()
    kept = (await server.client.get("world.inkube.dev/v1/githosts", "github.com"))["status"]
    assert kept["webhooks"] == []
