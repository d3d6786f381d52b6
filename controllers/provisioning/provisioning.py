"""Provisioning as one thing to plug in: its kinds, the world's kinds and the services they use.

    async with Provisioning(options, client=…, store=…, clock=…) as provisioning:
        provisioning.modules, provisioning.services

The composition root registers the modules and puts the services into the environment.
"""

from collections.abc import Mapping
from typing import Any, Self

from inkube.controllers.client import Client
from inkube.controllers.kinds import KindModule
from inkube.controllers.provisioning import connection, outside, repository
from inkube.controllers.provisioning.jobs import job
from inkube.controllers.provisioning.options import BITBUCKET_API, GITHUB_API, Options
from inkube.controllers.provisioning.outside.remotes import Remotes
from inkube.controllers.provisioning.outside.ssrf import Guard
from inkube.controllers.provisioning.outside.world import World
from inkube.controllers.provisioning.outside.world_outages import heal
from inkube.controllers.provisioning.outside.world_types import GitHost, GitHubApp
from inkube.controllers.provisioning.repository_checks import Vaults
from inkube.controllers.provisioning.stock import Stock
from inkube.controllers.provisioning.tokens import Tokens
from inkube.controllers.provisioning.types import Connection, Repository
from inkube.controllers.secure import SecretStore, SecureValues
from inkube.schemas.clock import Clock
from inkube.schemas.meta import GVR


class Provisioning:
    """Kinds and services of one server; entered, it may hold threads and connections."""

    def __init__(
        self, options: Options, *, client: Client, store: SecretStore, clock: Clock
    ) -> None:
        self.options = options
        self._clock = clock
        self._guard = Guard(allow_private=options.allow_private_hosts)
        self._git: outside.Git | None = None
        self._github: outside.GitHub | None = None
        self._rest: outside.Rest | None = None
        self._remotes = Remotes(
            World(client, clock),
            self._real_git,
            self._real_github,
            self._real_providers,
            is_offline=options.offline,
        )
        self._stock = Stock(options.max_resources_per_repository)
        self._tokens = Tokens()
        self._vaults = Vaults(
            repositories=SecureValues(_resource(Repository.gvr), store, clock),
            connections=SecureValues(_resource(Connection.gvr), store, clock),
        )

    @property
    def modules(self) -> tuple[KindModule[Any], ...]:
        """Repository, Connection and the world's kinds."""
        return (
            repository.module(self.options, self._vaults.repositories, self._stock, self._tokens),
            connection.module(self._vaults.connections, self._tokens),
            *job.modules(self._stock, self.options),
            KindModule(GitHost, reconciler=heal),
            KindModule(GitHubApp),
        )

    @property
    def remotes(self) -> Remotes:
        """Who answers for repositories; other families ask them, too."""
        return self._remotes

    @property
    def services(self) -> Mapping[str, Any]:
        """What the checks find by parameter name."""
        return {"remotes": self._remotes, "vaults": self._vaults}

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        if self._git is not None:
            self._git.close()
        if self._rest is not None:
            await self._rest.close()

    def _real_git(self) -> "outside.Git":
        """Imported and made when first asked: most servers never are."""
        if self._git is None:
            self._git = outside.Git(self._guard, timeout=self.options.timeout)
        return self._git

    def _real_github(self) -> "outside.GitHub":
        if self._github is None:
            self._github = outside.GitHub(self.options.github_api_url, self._real_rest())
        return self._github

    def _real_providers(self) -> "outside.Providers":
        return outside.Providers(self.options.bitbucket_api_url, self._real_rest())

    def _real_rest(self) -> "outside.Rest":
        """The APIs an operator named are trusted; GitHub's and Bitbucket's own need no trust."""
        if self._rest is None:
            named = (self.options.github_api_url, self.options.bitbucket_api_url)
            trusted = tuple(url for url in named if url not in (GITHUB_API, BITBUCKET_API))
            self._rest = outside.Rest(
                self._guard, self._clock, timeout=self.options.timeout, trusted=trusted
            )
        return self._rest


def _resource(gvr: GVR) -> str:
    return f"{gvr.resource}.{gvr.group}"
