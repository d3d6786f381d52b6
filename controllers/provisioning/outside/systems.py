"""The outside systems of one server, opened by the first request to them and closed once."""

from functools import cached_property

from inkube.client import Client
from inkube.controllers.provisioning.options import BITBUCKET_API, GITHUB_API, OutsideOptions
from inkube.controllers.provisioning.outside import clients
from inkube.controllers.provisioning.outside.remotes import Remotes
from inkube.controllers.provisioning.outside.ssrf import Guard
from inkube.controllers.provisioning.outside.world import World
from inkube.kinds import Clock


class Systems:
    """Git servers, the APIs of providers and the scripted world; `remotes` selects the right
    one."""

    def __init__(self, options: OutsideOptions, *, client: Client, clock: Clock) -> None:
        self._options = options
        self._clock = clock
        self._guard = Guard(allow_private=options.allow_private_hosts)
        self.remotes = Remotes(
            World(client, clock),
            lambda: self._git,
            lambda: self._github,
            lambda: clients.Providers(options.bitbucket_api_url, self._rest),
            is_offline=options.offline,
        )

    async def close(self) -> None:
        """Stop threads and close connections."""
        opened = vars(self)
        if "_git" in opened:
            self._git.close()
        if "_rest" in opened:
            await self._rest.close()

    # created and imported at their first use, because most servers never need them

    @cached_property
    def _git(self) -> "clients.Git":
        return clients.Git(self._guard, timeout=self._options.outside_timeout)

    @cached_property
    def _github(self) -> "clients.GitHub":
        return clients.GitHub(self._options.github_api_url, self._rest)

    @cached_property
    def _rest(self) -> "clients.RestClient":
        """URLs that an operator configures are trusted; the default ones of GitHub and Bitbucket
        do not need trust."""
        named = (self._options.github_api_url, self._options.bitbucket_api_url)
        trusted = tuple(url for url in named if url not in (GITHUB_API, BITBUCKET_API))
        timeout = self._options.outside_timeout
        return clients.RestClient(self._guard, self._clock, timeout=timeout, trusted_urls=trusted)
