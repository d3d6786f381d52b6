"""Concurrent requests: one succeeds, the others get a reason, and git has no partial results."""

import asyncio

import pytest
from parcels import PORCH, git, parcels, refs

MANY = 50


@pytest.fixture
async def api(tmp_path):
    place = tmp_path / "packages.git"
    git(tmp_path, "init", "-q", "--bare", "-b", "main", str(place))
    async with parcels() as found:
        found.place = place
        await found.register(repo=f"file://{place}", createBranch=True)
        yield found


def told(answers):
    """Return the number of successes; all other responses must be 409 with a reason."""
    refused = [body for code, body in answers if code >= 300]
    for body in refused:
        assert (body["code"], body["reason"]) == (409, "Conflict"), body
        assert any(
            words in body["message"]
            for words in (
                "already in progress", "has been modified", "already exists", "cannot be nested",
            )
        ), body  # fmt: skip
    return len(answers) - len(refused)


async def test_creates_of_one_name(api):
    answers = await asyncio.gather(*(api.create("a") for _ in range(MANY)))
    assert told(answers) == 1
    assert refs(api.place) == ["drafts/a/v1", "main"]


async def test_creates_of_paths_within_each_other(api):
    paths = [("a", "a/b", "a/b/c")[n % 3] for n in range(MANY)]
    answers = await asyncio.gather(*(api.create(path, f"w{n}") for n, path in enumerate(paths)))
    assert told(answers) == 1
    assert len(refs(api.place)) == 2


async def test_approvals_of_one_revision(api):
    await api.made("a")
    await api.lifecycle("blueprints.a.v1", "Proposed")
    obj = await api.get("blueprints.a.v1")
    obj["spec"]["lifecycle"] = "Published"
    path = f"{PORCH}/packagerevisions/blueprints.a.v1/approval"
    answers = await asyncio.gather(*(api.send("PUT", path, obj) for _ in range(MANY)))
    assert told(answers) == 1
    assert refs(api.place) == ["main", "tags/a/v1"]
    assert git(api.place, "rev-list", "--count", "main") == "2"


async def test_updates_of_resources(api):
    await api.made("a")
    obj = await api.get("blueprints.a.v1", "packagerevisionresources")
    path = f"{PORCH}/packagerevisionresources/blueprints.a.v1"

    async def write(number):
        resources = {**obj["spec"]["resources"], "README.md": f"{number}\n"}
        body = {**obj, "spec": {**obj["spec"], "resources": resources}}
        return await api.send("PUT", path, body)

    answers = await asyncio.gather(*(write(n) for n in range(MANY)))
    assert told(answers) == 1
    [won] = [body["spec"]["resources"] for code, body in answers if code == 200]
    assert git(api.place, "show", "drafts/a/v1:a/README.md") == won["README.md"].strip()
    assert git(api.place, "rev-list", "--count", "main..drafts/a/v1") == "2"


async def test_approvals_of_several_revisions_of_one_package_count_up(api):
    await api.made("a")
    await api.publish("blueprints.a.v1")
    task = {"type": "edit", "edit": {"sourceRef": {"name": "blueprints.a.v1"}}}
    for number in range(6):
        await api.made("a", f"w{number}", task=task, lifecycle="Proposed")
    answers = await asyncio.gather(
        *(api.lifecycle(f"blueprints.a.w{n}", "Published", approval=True) for n in range(6))
    )
    assert sorted(body["spec"]["revision"] for _, body in answers) == [2, 3, 4, 5, 6, 7]
    names = await api.names(labelSelector="kpt.dev/latest-revision=true")
    [latest] = [await api.get(name) for name in names]
    assert latest["spec"]["revision"] == 7
    git(api.place, "fsck")
