"""GitLab, Bitbucket and OAuth of all providers behind one interface; GitHub's API is separate."""

from inkube.controllers.provisioning.outside.clients import oauth
from inkube.controllers.provisioning.outside.clients.bitbucket import BitbucketSession
from inkube.controllers.provisioning.outside.clients.gitlab import GitLabSession
from inkube.controllers.provisioning.outside.clients.rest import RestClient
from inkube.controllers.provisioning.outside.hosts import Grant, Session, Target


class Providers:
    """Opens sessions with their APIs."""

    def __init__(self, bitbucket_url: str, rest: RestClient) -> None:
        self._bitbucket_url = bitbucket_url
        self._rest = rest

    def open(self, target: Target) -> Session:
        """Return a session for one repository of type gitlab or bitbucket."""
        if target.type == "gitlab":
            return GitLabSession(self._rest, target)
        return BitbucketSession(self._rest, self._bitbucket_url, target)

    async def exchange(self, grant: Grant) -> tuple[str, float]:
        """Exchange a code for a token, see `oauth`."""
        return await oauth.exchange(self._rest, grant)
