"""Clients and repositories for tests of Porch, with requests as porchctl sends them."""

import asyncio
import io
import json
import os
import subprocess
from contextlib import asynccontextmanager

import aiohttp
from patience import SECONDS

from inkube import APIServer

PORCH = "/apis/porch.kpt.dev/v1alpha1/namespaces/default"
CONFIG = "/apis/config.porch.kpt.dev/v1alpha1/namespaces/default"
WORLD = "/apis/world.inkube.dev/v1/githosts"
KPTFILE = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: {name}\n"
MEDIA = "application/merge-patch+json"
_GIT = {
    "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull,
    "GIT_AUTHOR_NAME": "Ann", "GIT_AUTHOR_EMAIL": "ann@example.com",
    "GIT_COMMITTER_NAME": "Ann", "GIT_COMMITTER_EMAIL": "ann@example.com",
}  # fmt: skip


def git(place, *arguments):
    """Run git, and return its output."""
    done = subprocess.run(
        ["git", *arguments], cwd=place, check=True, capture_output=True, text=True, timeout=SECONDS,
        env={"PATH": os.environ["PATH"], "HOME": str(place), **_GIT},
    )  # fmt: skip
    return done.stdout.strip()


def refs(place):
    """Return branches and tags of a repository."""
    told = git(place, "for-each-ref", "--format=%(refname)").splitlines()
    return [name.removeprefix("refs/heads/").removeprefix("refs/") for name in told]


class Parcels:
    """A client of one server."""

    def __init__(self, http, server):
        self.http, self.server = http, server

    async def send(self, method, path, body=None, *, media="application/json", **params):
        """Send a request; return the status code and the parsed body."""
        kwargs: dict = {"params": params}
        if body is not None:
            kwargs["data"] = io.BytesIO(json.dumps(body).encode())
            kwargs["headers"] = {"Content-Type": media}
        async with self.http.request(method, path, **kwargs) as answer:
            found = await answer.json()
            self.warnings = answer.headers.getall("Warning", [])
            return answer.status, found

    async def host(self, name="git.example.com", **spec):
        """Create a scripted host. By default it has the repositories org/blueprints and
        org/deployments."""
        plain = [
            {"path": "org/blueprints", "branches": ["main"]},
            {"path": "org/deployments", "branches": ["main"]},
        ]
        spec = {"repositories": plain, **spec}
        body = {"metadata": {"name": name}, "spec": spec}
        code, answer = await self.send("POST", WORLD, body)
        assert code == 201, answer
        return answer

    async def register(self, name="blueprints", repo=None, *, ready=True, **spec):
        """Create a Repository; with `ready`, wait until it is synced."""
        settings = {"repo": repo or f"https://git.example.com/org/{name}"}
        settings |= {m: spec.pop(m) for m in ("branch", "directory", "createBranch") if m in spec}
        body = {"metadata": {"name": name}, "spec": {"type": "git", "git": settings, **spec}}
        code, answer = await self.send("POST", f"{CONFIG}/repositories", body)
        assert code == 201, answer
        await self.server.settled()
        code, answer = await self.send("GET", f"{CONFIG}/repositories/{name}")
        [condition] = answer["status"]["conditions"]
        assert condition["status"] == ("True" if ready else "False"), condition
        return answer

    async def create(self, package, workspace="v1", repository="blueprints", *, task=None, **more):
        """POST a PackageRevision."""
        params = {"dryRun": "All"} if more.pop("dry", False) else {}
        meta = more.pop("metadata", {})
        spec = {"packageName": package, "repository": repository, "workspaceName": workspace}
        if task is not None:
            spec["tasks"] = [task]
        body = {"metadata": meta, "spec": {**spec, **more}}
        return await self.send("POST", f"{PORCH}/packagerevisions", body, **params)

    async def made(self, *args, **kwargs):
        """Create a PackageRevision and return it."""
        code, answer = await self.create(*args, **kwargs)
        assert code == 201, answer
        return answer

    async def get(self, name, kind="packagerevisions"):
        """GET one object."""
        code, answer = await self.send("GET", f"{PORCH}/{kind}/{name}")
        assert code == 200, answer
        return answer

    async def names(self, kind="packagerevisions", **params):
        """Return the names of the objects in a list."""
        _, answer = await self.send("GET", f"{PORCH}/{kind}", **params)
        return [item["metadata"]["name"] for item in answer["items"]]

    async def lifecycle(self, name, value, *, approval=False, **params):
        """GET an object, and PUT it with another lifecycle."""
        obj = await self.get(name)
        obj["spec"]["lifecycle"] = value
        path = f"{PORCH}/packagerevisions/{name}{'/approval' if approval else ''}"
        return await self.send("PUT", path, obj, **params)

    async def publish(self, name):
        """Propose and approve a revision."""
        code, answer = await self.lifecycle(name, "Proposed")
        assert code == 200, answer
        return await self.publish_proposed(name)

    async def publish_proposed(self, name):
        """Approve a proposed revision."""
        code, answer = await self.lifecycle(name, "Published", approval=True)
        assert code == 200, answer
        return answer

    async def files(self, name):
        """Return the files of a revision."""
        return (await self.get(name, "packagerevisionresources"))["spec"]["resources"]

    async def push(self, name, files, **params):
        """PUT files over the existing ones; None removes a file."""
        obj = await self.get(name, "packagerevisionresources")
        for file, text in files.items():
            if text is None:
                obj["spec"]["resources"].pop(file)
            else:
                obj["spec"]["resources"][file] = text
        return await self.send("PUT", f"{PORCH}/packagerevisionresources/{name}", obj, **params)


@asynccontextmanager
async def parcels(**options):
    """A server with Porch, and a client of it."""
    options = {"modules": "porch,world", "offline": True, "allow_private_hosts": True, **options}
    async with APIServer(**options) as server, aiohttp.ClientSession(server.url) as http:
        yield Parcels(http, server)


def causes(answer):
    """Return fields and messages of the causes of a 422."""
    return [(cause.get("field", ""), cause["message"]) for cause in answer["details"]["causes"]]


async def gathered(*calls):
    """Make several calls at once; return their status codes."""
    return [code for code, _ in await asyncio.gather(*calls)]
