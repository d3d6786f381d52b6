"""Repositories designed to be expensive are read only up to limits."""

import stat
from datetime import datetime

import pytest
from dulwich.objects import Blob, Commit, Tree
from dulwich.repo import MemoryRepo, Repo
from parcels import parcels

from inkube.controllers.porch import repository, sync
from inkube.controllers.porch.git import content, discovery
from inkube.controllers.porch.git.layout import Layout
from inkube.controllers.provisioning.outside import allowances, contents
from inkube.controllers.provisioning.outside.clients import git

LEVELS, WIDTH = 12, 16


def bomb(repo):
    """Return a commit whose tree has 16^12 directories, of 13 trees that name each other."""
    store = repo.object_store
    blob = Blob.from_string(b"nothing\n")
    tree = Tree()
    tree.add(b"README.md", 0o100644, blob.id)
    store.add_object(blob)
    store.add_object(tree)
    for _ in range(LEVELS):
        above = Tree()
        for number in range(WIDTH):
            above.add(b"d%d" % number, stat.S_IFDIR, tree.id)
        store.add_object(above)
        tree = above
    made = Commit()
    made.tree = tree.id
    made.author = made.committer = b"a <a@b>"
    made.author_time = made.commit_time = made.author_timezone = made.commit_timezone = 0
    made.message = b"bomb\n"
    store.add_object(made)
    repo.refs[b"refs/heads/main"] = made.id
    return made.id


@pytest.fixture(autouse=True)
def _little(monkeypatch):
    monkeypatch.setattr(allowances, "OBJECTS", 2_000)


def test_directories_without_end_are_not_walked():
    repo = MemoryRepo()
    commit = bomb(repo)
    store = content.LocalRepository(repo)
    ask = allowances.limited(
        lambda: discovery.discover(store, {"refs/heads/main": commit.decode()}, Layout("main", ""))
    )
    with pytest.raises(allowances.Exhausted, match="2000 objects"):
        ask()


@pytest.mark.parametrize("limit", ["SECONDS", "BYTES"])
def test_time_and_bytes_are_bounded_too(monkeypatch, limit):
    monkeypatch.setattr(allowances, "OBJECTS", 10**9)
    monkeypatch.setattr(allowances, limit, 0.05 if limit == "SECONDS" else 100_000)
    repo = MemoryRepo()
    commit = bomb(repo)
    store = content.LocalRepository(repo)
    tree = store.head(commit.decode()).tree
    with pytest.raises(contents.TooMuch):
        allowances.limited(lambda: store.walk(tree))()


def test_files_of_a_branch_are_not_looked_for_without_end():
    repo = MemoryRepo()
    commit = bomb(repo)
    with pytest.raises(contents.TooMuch):
        allowances.limited(lambda: git._files(repo, commit))()


def test_reads_without_an_allowance_are_not_limited():
    allowances.limited(lambda: None)()
    for _ in range(3_000):
        allowances.spend(2**30)


@pytest.fixture
def place(tmp_path):
    folder = tmp_path / "bomb.git"
    folder.mkdir()
    with Repo.init_bare(str(folder)) as repo:
        bomb(repo)
    return folder


@pytest.fixture
def looked(monkeypatch):
    """The number of walks through a repository's trees."""
    times = []
    discover = discovery.discover

    def counted(*args, **options):
        times.append(args)
        return discover(*args, **options)

    monkeypatch.setattr(discovery, "discover", counted)
    return times


async def test_a_repository_beyond_a_limit_has_a_condition_and_a_late_next_check(place, looked):
    async with parcels() as api:
        begun = api.server.clock.now()
        found = await api.register(repo=f"file://{place}", ready=False)
        [condition] = found["status"]["conditions"]
        assert "2000 objects" in condition["message"]
        due = datetime.fromisoformat(found["status"]["nextFullSyncTime"])
        assert (due - begun).total_seconds() >= repository.EXHAUSTED_SECONDS - 1
        assert len(looked) == 1


async def test_a_repository_whose_refs_are_the_same_is_not_read_again(looked):
    async with parcels() as api:
        await api.host()
        found = await api.register()
        assert len(looked) == 1
        env = api.server.parts.environment()
        engine = env.services["porch"]
        depot = await engine.depots.open(found)
        first = await sync.sync(env, engine.depots, found, depot)
        assert len(looked) == 2
        assert await sync.sync(env, engine.depots, found, depot, first) is first
        assert len(looked) == 2
        other = first._replace(digest="of other refs")
        assert await sync.sync(env, engine.depots, found, depot, other) == first
        assert len(looked) == 3
