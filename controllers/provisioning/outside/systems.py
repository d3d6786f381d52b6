"""The outside systems of one server, opened by the first request to them and closed once."""

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
        self._git: clients.Git | None = None
        self._github: clients.GitHub | None = None
        self._rest: clients.RestClient | None = None
        self.remotes = Remotes(
            World(client, clock),
            self._real_git,
            self._real_github,
            self._real_providers,
            is_offline=options.offline,
        )

    async def close(self) -> None:
        """Stop threads and close connections."""
        if self._git is not None:
            self._git.close()
        if self._rest is not None:
            await self._rest.close()

    def _real_git(self) -> "clients.Git":
        """Import and create the git client at its first use, because most servers never need it."""
        if self._git is None:
            self._git = clients.Git(self._guard, timeout=self._options.outside_timeout)
        return self._git

    def _real_github(self) -> "clients.GitHub":
        if self._github is None:
            self._github = clients.GitHub(self._options.github_api_url, self._real_rest())
        return self._github

    def _real_providers(self) -> "clients.Providers":
        return clients.Providers(self._options.bitbucket_api_url, self._real_rest())

    def _real_rest(self) -> "clients.RestClient":
        """Return the REST client. URLs that an operator configures are trusted; the default ones of
        GitHub and Bitbucket do not need trust."""
        if self._rest is None:
            named = (self._options.github_api_url, self._options.bitbucket_api_url)
            trusted = tuple(url for url in named if url not in (GITHUB_API, BITBUCKET_API))
            self._rest = clients.RestClient(
                self._guard,
                self._clock,
                timeout=self._options.outside_timeout,
                trusted_urls=trusted,
            )
        return self._rest
