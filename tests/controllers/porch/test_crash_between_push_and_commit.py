"""A model test: the server dies at every step to git and to the log, and the next one repairs
it."""

import pytest
from parcels import git, parcels, refs

from inkube.controllers.porch.git.depots import Depot
from inkube.storage.store import Store


class Killed(Exception):
    """The server is dead: none of its later steps may run."""


class Death:
    """Kills the server at the n-th step from now; steps are pushes and commits."""

    def __init__(self, monkeypatch):
        self.left, self.dead = None, False
        self._wrap(monkeypatch, Depot, "push")
        commit = Store.commit
        death = self

        async def dying(store, batch, *consent):
            death.step()
            made = await commit(store, batch, *consent)
            death.step()
            return made

        monkeypatch.setattr(Store, "commit", dying)

    def _wrap(self, monkeypatch, owner, name):
        method, death = getattr(owner, name), self

        def dying(*args):
            death.step()
            # a push of several refs is not one step: the server may die after each of them
            updates = args[1]
            for update in updates:
                method(args[0], [update])
                death.step()

        monkeypatch.setattr(owner, name, dying)

    def step(self):
        if self.left is None:
            return
        if self.dead or self.left == 0:
            self.dead = True
            raise Killed
        self.left -= 1


async def draft(api):
    await api.create("a", "v2")


async def edit(api):
    await api.push("blueprints.b.v1", {"README.md": "new\n"})


async def propose(api):
    await api.lifecycle("blueprints.b.v1", "Proposed")


async def publish(api):
    await api.lifecycle("blueprints.c.v1", "Published", approval=True)


async def delete(api):
    await api.send(
        "DELETE", "/apis/porch.kpt.dev/v1alpha1/namespaces/default/packagerevisions/blueprints.b.v1"
    )


async def begin(api, place):
    await api.register(repo=f"file://{place}", createBranch=True)
    await api.made("b")
    await api.made("c")
    await api.lifecycle("blueprints.c.v1", "Proposed")


def in_git(place):
    """Return the revisions in git with their lifecycle."""
    found = {}
    for ref in refs(place):
        kind, _, rest = ref.partition("/")
        if kind in ("drafts", "proposed"):
            package, _, workspace = rest.rpartition("/")
            lifecycle = {"drafts": "Draft", "proposed": "Proposed"}[kind]
            name = f"blueprints.{package}.{workspace}"
            if found.get(name) not in ("Published", "Proposed"):
                found[name] = lifecycle
    for ref in refs(place):
        kind, _, rest = ref.partition("/")
        if kind == "tags":
            package = rest.rpartition("/")[0]
            found[f"blueprints.{package}.v1"] = "Published"
    tree = git(place, "ls-tree", "-d", "--name-only", "main").splitlines()
    return {**found, **{f"blueprints.{package}.main": "Published" for package in tree}}


@pytest.mark.parametrize("action", [draft, edit, propose, publish, delete])
async def test_git_and_store_agree_after_the_next_sync(action, tmp_path, monkeypatch):
    death = Death(monkeypatch)
    steps = 0
    for at in range(40):
        place, data = tmp_path / f"{at}.git", tmp_path / f"{at}.db"
        git(tmp_path, "init", "-q", "--bare", "-b", "main", str(place))
        death.left, death.dead = None, False
        async with parcels(data=data) as api:
            await begin(api, place)
            death.left = at
            try:
                await action(api)
            except Exception:  # the connection breaks with the server
                assert death.dead
            was_killed, death.left, death.dead = death.dead, None, False
        async with parcels(data=data, porch_sync_interval=0.001) as api:
            once = {"spec": {"sync": {"runOnceAt": "2020-01-01T00:00:00Z"}}}
            path = "/apis/config.porch.kpt.dev/v1alpha1/namespaces/default/repositories/blueprints"
            media = "application/merge-patch+json"
            await api.send("PATCH", path, once, media=media)
            await api.server.settled()
            _, found = await api.send(
                "GET", "/apis/porch.kpt.dev/v1alpha1/namespaces/default/packagerevisions"
            )
            objects = {o["metadata"]["name"]: o["spec"]["lifecycle"] for o in found["items"]}
            assert objects == in_git(place)
            for obj in found["items"]:
                lock = obj["status"]["selfLock"]["git"]
                assert lock["commit"] == git(place, "rev-parse", f"{lock['ref']}^{{commit}}")
        git(place, "fsck")
        if not was_killed:
            break
        steps += 1
    assert steps >= 2
