"""Deletion of a repository, default values at its creation, and the maximum number of
repositories."""

import pytest
from worlds import PROVISIONING, host, repository

ALL = f"/apis/{PROVISIONING}/namespaces/ns"
SYNC = {"enabled": True, "target": "folder", "intervalSeconds": 30}
FINALIZERS = ["remove-orphan-resources", "remove-pending-jobs", "cleanup"]


def files(count):
    return [{"path": f"{n}.json", "content": dashboard(n)} for n in range(count)]


def dashboard(number):
    return f'{{"uid": "d{number}", "title": "T", "schemaVersion": 39, "panels": [], "tags": []}}'


def hosting(count):
    own = {"path": "grafana/grafana", "branches": ["main"], "defaultBranch": "main"}
    return host(repositories=[{**own, "files": files(count)}])


def conditions(obj):
    return {
        each["type"]: (each["status"], each["reason"], each["message"])
        for each in obj["status"]["conditions"]
    }


async def test_what_is_left_out_is_filled_in(server):
    obj = repository(webhook={"baseUrl": "https://grafana.example.com//"}, workflows=None)
    code, _, made = await server.request("POST", f"{ALL}/repositories", json=obj)
    assert code == 201
    assert made["metadata"]["finalizers"] == FINALIZERS
    assert made["spec"]["workflows"] == []
    assert made["spec"]["sync"] == {"enabled": False, "intervalSeconds": 10}
    assert made["spec"]["webhook"] == {"baseUrl": "https://grafana.example.com"}


async def test_no_warning_is_given_of_its_own_finalizers(server):
    code, headers, _ = await server.request("POST", f"{ALL}/repositories", json=repository())
    assert (code, "Warning" in headers) == (201, False)


async def test_finalizers_that_are_sent_replace_the_old_ones(server):
    await server.create(repository())
    body = {**repository(), "metadata": {"name": "a", "finalizers": ["release-orphan-resources"]}}
    code, _, put = await server.request("PUT", f"{ALL}/repositories/a", json=body)
    assert (code, put["metadata"]["finalizers"]) == (200, ["release-orphan-resources"])


@pytest.mark.parametrize("names", [FINALIZERS, ["release-orphan-resources", "cleanup"]])
async def test_the_jobs_and_resources_of_a_deleted_repository_are_deleted(server, names):
    await server.create(hosting(2))
    obj = repository(sync=SYNC)
    obj["metadata"]["finalizers"] = names
    await server.create(obj)
    await server.settled()
    waiting = {"action": "pull", "repository": "a", "pull": {}}
    job = {"apiVersion": PROVISIONING, "kind": "Job", "metadata": {"name": "x", "namespace": "ns"}}
    await server.create({**job, "spec": waiting})
    going = await server.delete("repositories", "a")
    assert going["metadata"]["deletionTimestamp"]
    await server.settled()
    assert (await server.client.list(f"{PROVISIONING}/repositories")).items == []
    assert (await server.client.list(f"{PROVISIONING}/jobs")).items == []
    _, _, stats = await server.request("GET", f"{ALL}/stats")
    assert (stats["managed"], stats["instance"]) == ([], [])


async def test_a_repository_that_is_being_deleted_is_not_checked(provisioned):
    async with provisioned(controllers=False) as server:
        await server.create(repository())
        await server.delete("repositories", "a")
        merge = {"Content-Type": "application/merge-patch+json"}
        for query in ("?dryRun=All", ""):
            code, _, _ = await server.request(
                "PATCH", f"{ALL}/repositories/a{query}", json={"spec": {"title": ""}}, headers=merge
            )
            assert code == 200
        left = {"metadata": {"finalizers": None}}
        code, _, _ = await server.request(
            "PATCH", f"{ALL}/repositories/a", json=left, headers=merge
        )
        assert code == 200
        assert (await server.request("GET", f"{ALL}/repositories/a"))[0] == 404


async def test_repositories_report_the_quota_of_their_namespace(provisioned):
    async with provisioned(max_repositories=2) as server:
        await server.create(host())
        await server.create(repository("a", block={"path": "a"}))
        await server.settled()
        stored = await server.get("repositories")
        assert stored["status"]["quota"] == {"maxRepositories": 2}
        assert conditions(stored)["NamespaceQuota"] == (
            "True", "WithinQuota", "within quota: 1/2 repositories",
        )  # fmt: skip
        await server.create(repository("b", block={"path": "b"}))
        await server.settled()
        for name in ("a", "b"):
            assert conditions(await server.get("repositories", name))["NamespaceQuota"] == (
                "True", "QuotaReached", "namespace quota reached: 2/2 repositories",
            )  # fmt: skip
        await server.delete("repositories", "b")
        await server.settled()
        told = conditions(await server.get("repositories"))["NamespaceQuota"]
        assert told[1:] == ("WithinQuota", "within quota: 1/2 repositories")


async def test_a_limit_that_was_lowered_makes_repositories_unhealthy(provisioned, tmp_path):
    data = tmp_path / "inkube.db"
    async with provisioned(data=data) as server:
        await server.create(hosting(1))
        for name in ("a", "b"):
            await server.create(repository(name, block={"path": name}, sync=SYNC))
        await server.settled()
    async with provisioned(data=data, max_repositories=1, namespace=None) as server:
        await server.settled()
        stored = await server.get("repositories")
        text = "namespace quota exceeded: 2/1 repositories"
        assert conditions(stored)["NamespaceQuota"] == ("False", "QuotaExceeded", text)
        assert conditions(stored)["Ready"] == ("False", "QuotaExceeded", text)
        assert stored["status"]["health"]["healthy"] is False
        code, _, refused = await server.request(
            "POST", f"{ALL}/repositories/a/jobs", json={"pull": {}}
        )
        assert (code, refused["message"]) == (424, "The repository configuration is not healthy")
        await server.delete("repositories", "b")
        await server.settled()
        assert conditions(await server.get("repositories"))["Ready"][0] == "True"


async def test_resources_are_counted_against_their_quota(provisioned):
    async with provisioned(max_resources_per_repository=3) as server:
        await server.create(hosting(1))
        await server.create(repository(sync=SYNC))
        await server.settled()
        for count, told in [
            (1, ("True", "WithinQuota", "Within quota: 2/3 resources")),
            (2, ("True", "QuotaReached", "Resource quota reached: 3/3 resources")),
            (3, ("False", "QuotaExceeded", "Resource quota exceeded: 4/3 resources")),
            (1, ("True", "WithinQuota", "Within quota: 2/3 resources")),
        ]:
            repositories = hosting(count)["spec"]["repositories"]
            await server.edit("githosts", "github.com", repositories=repositories)
            await server.recheck(31)
            stored = await server.get("repositories")
            assert stored["status"]["quota"] == {"maxResourcesPerRepository": 3}
            found = conditions(stored)
            assert found["ResourceQuota"] == told
            is_over = count == 3
            wanted = "SyncQuotaExceeded" if is_over else "SyncSuccessful"
            assert found["SyncStatus"][1] == wanted
            assert stored["status"]["sync"]["state"] == ("error" if is_over else "success")
            assert found["Ready"][0] == "True"
