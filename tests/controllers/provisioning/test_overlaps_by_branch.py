"""Overlap of two repositories depends on their branches, including the default one."""

import pytest
from worlds import PROVISIONING


def repository(name, branch):
    return {
        "apiVersion": PROVISIONING,
        "kind": "Repository",
        "metadata": {"name": name, "namespace": "ns"},
        "spec": {
            "title": name,
            "type": "git",
            "git": {"url": "https://git.example/o/r", "branch": branch},
        },
    }


@pytest.fixture
async def server(provisioned):
    async with provisioned() as made:
        branches = {"path": "o/r", "branches": ["main", "dev"], "defaultBranch": "main"}
        await made.create(
            {
                "apiVersion": "world.inkube.dev/v1",
                "kind": "GitHost",
                "metadata": {"name": "git.example"},
                "spec": {"repositories": [branches]},
            }
        )
        yield made


@pytest.mark.parametrize(
    ("taken", "wanted", "overlaps"),
    [
        ("main", "main", True),
        ("main", "", True),
        ("", "main", True),
        ("", "", True),
        ("main", "dev", False),
        ("dev", "", False),
        ("", "dev", False),
    ],
)
async def test_two_repositories_of_one_place(server, taken, wanted, overlaps):
    await server.create(repository("first", taken))
    await server.settled()
    causes = await server.dry_run(repository("second", wanted))
    assert [cause["reason"] for cause in causes] == ["FieldValueDuplicate"] * overlaps
    await server.create(repository("second", wanted))
    errors = await server.errors("repositories", "second")
    assert [error["type"] for error in errors] == ["FieldValueDuplicate"] * overlaps


async def test_a_repository_that_changes_its_branch_frees_the_old_one(server):
    await server.create(repository("first", ""))
    await server.create(repository("second", "main"))
    assert len(await server.errors("repositories", "second")) == 1
    await server.edit("repositories", "first", git={"branch": "dev"})
    assert await server.errors("repositories", "second") == []
