"""The git repositories of Repositories, opened with their credentials.

As in provisioning, a URL selects a file, the scripted world, or a git server behind the same guard,
time limits and threads.
"""

import asyncio
import base64
import binascii
import hashlib
from collections import OrderedDict
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from dulwich.client import Urllib3HttpGitClient
from dulwich.repo import BaseRepo, MemoryRepo, Repo

from inkube.client import Client, Object
from inkube.controllers.porch.git import content, layout
from inkube.controllers.porch.git.content import LocalRepository, RemoteRepository, Store
from inkube.controllers.porch.git.layout import Layout
from inkube.controllers.porch.git.scripted import ScriptedRepositories
from inkube.controllers.provisioning import (
    Credentials,
    NotAuthorized,
    Remotes,
    Target,
    allowances,
    outside,
    urls,
)
from inkube.kinds import StatusError

T = TypeVar("T")
MAX_DEPOTS = 128
"""The number of repositories that stay open."""
_IDENTITY = "kpt.dev/workload-identity-auth"


class SecretMissing(Exception):
    """The referenced Secret does not exist."""


class SecretUnfit(Exception):
    """The Secret does not contain usable credentials; the message gives the reason."""


class ReadOnly(content.PushRejected):
    """These credentials can only read from the scripted host."""


@dataclass(frozen=True, slots=True)
class Depot:
    """The git repository of a Repository, with its layout and the settings for commits."""

    store: Store
    layout: Layout
    url: str
    may_write: bool = True
    deployment: bool = False
    author: str = ""
    email: str = ""

    def signature(self, user: str) -> tuple[str, str]:
        """Return the name and e-mail address of the author of commits."""
        return self.author or self.email or user, self.email or self.author or user

    def push(self, updates: list[content.Update]) -> None:
        """Push the updates. Blocks. Raises Moved, Refused."""
        if not self.may_write:
            raise ReadOnly("the credentials do not allow to push")
        self.store.push(updates)


class Depots:
    """Opens repositories; a server has one instance."""

    def __init__(self, remotes: Remotes, client: Client, *, clones: Path | None) -> None:
        self._remotes = remotes
        self._client = client
        self._clones = clones
        self._scripted = ScriptedRepositories()
        self._stores: OrderedDict[tuple[str, str], Store] = OrderedDict()

    async def open(self, repository: Object) -> Depot:
        """Open the repository of a Repository. Raises the errors of hosts, SecretMissing,
        SecretUnfit."""
        spec = repository["spec"]
        git = spec["git"]
        namespace = repository["metadata"]["namespace"]
        store, may_write = await self.source(git["repo"], git.get("secretRef"), namespace)
        where = Layout(git.get("branch") or "main", layout.directory(git.get("directory") or ""))
        return Depot(
            store,
            where,
            git["repo"],
            may_write,
            bool(spec.get("deployment")),
            git.get("author") or "",
            git.get("email") or "",
        )

    async def source(self, url: str, secret: Object | None, namespace: str) -> tuple[Store, bool]:
        """Open any git repository. Return it, and whether it accepts pushes as far as known."""
        credentials = await self._credentials((secret or {}).get("name") or "", namespace)
        target = Target("git", url, credentials)
        if url.startswith("file://"):
            return await self.run(url, lambda: self._local(url)), True
        session = await self._remotes.scripted(target)
        if session is not None:
            host, repository = await session.repository()
            store = await self.run(url, lambda: self._scripted.store(host, repository))
            return store, await session.may_write()
        return self._remote(target), True

    async def run(self, url: str, question: Callable[[], T]) -> T:
        """Run an operation on a repository, within the time limit for outside systems; a file has
        no limit."""
        if url.startswith("file://"):
            return await self.work(question)
        return await self._remotes.git.run(urls.host_of(url) or "the local repository", question)

    @staticmethod
    async def work(task: Callable[[], T]) -> T:
        """Run work without network access in a thread: read local objects, merge, render."""
        return await asyncio.to_thread(allowances.limited(task))

    def _local(self, url: str) -> LocalRepository:
        key = (url, "")
        store = self._stores.get(key)
        if isinstance(store, LocalRepository) and store.exists():
            return store
        store = content.open_file(url)
        return self._keep(key, store)

    def _remote(self, target: Target) -> Store:
        secret = f"{target.credentials.user}\0{target.credentials.token}"
        key = (target.url, hashlib.sha256(secret.encode()).hexdigest())
        store = self._stores.get(key)
        if store is None:
            pushing = _ClientFactory(self._remotes.git, target)
            store = RemoteRepository(
                self._clone(target.url), pushing, target.url, urls.host_of(target.url)
            )
        return self._keep(key, store)

    def _keep(self, key: tuple[str, str], store: T) -> T:
        assert isinstance(store, Store), "only stores are kept"
        self._stores[key] = store
        self._stores.move_to_end(key)
        while len(self._stores) > MAX_DEPOTS:
            self._stores.popitem(last=False)[1].close()
        return store

    def _clone(self, url: str) -> BaseRepo:
        if self._clones is None:
            return MemoryRepo()
        place = self._clones / f"{hashlib.sha256(url.encode()).hexdigest()[:24]}.git"
        if place.exists():
            return Repo(str(place))
        place.mkdir(parents=True)
        return Repo.init_bare(str(place))

    def close(self) -> None:
        """Close all repositories."""
        for store in self._stores.values():
            store.close()
        self._stores.clear()

    async def _credentials(self, name: str, namespace: str) -> Credentials:
        if not name:
            return Credentials()
        try:
            secret = await self._client.get("v1/secrets", name, namespace)
        except StatusError as error:
            if error.code == 404:
                raise SecretMissing(name) from error
            raise
        if secret.get("type") == _IDENTITY:
            raise SecretUnfit("workload identity is not supported by this server")
        data = secret.get("data") or {}
        if "bearerToken" in data:
            return Credentials(token=_decode(data["bearerToken"]))
        if "username" not in data or "password" not in data:
            raise SecretUnfit(f"secret {name} needs username and password, or bearerToken")
        return Credentials(user=_decode(data["username"]), token=_decode(data["password"]))


def _decode(text: str) -> str:
    try:
        return base64.b64decode(text, validate=True).decode()
    except (binascii.Error, UnicodeDecodeError) as error:
        raise NotAuthorized from error


class _ClientFactory:
    """Creates clients for the host of one target (`content.ClientFactory`)."""

    def __init__(self, git: "outside.Git", target: Target) -> None:
        self._git, self._target = git, target

    def client(self, url: str) -> AbstractContextManager[Urllib3HttpGitClient]:
        """Return a client for one operation."""
        return self._git.client(url, self._target)
