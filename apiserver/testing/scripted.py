"""The simulated external systems of a test: git hosts and GitHub Apps.

Every change returns after the controllers have processed it.
"""

from collections.abc import Mapping, Sequence

from inkube.apiserver import scenarios
from inkube.apiserver.testing import arguments
from inkube.apiserver.testing.kube import Kube
from inkube.controllers.client import Object
from inkube.schemas.status import Reason, StatusError

__tracebackhide__ = True  # pytest shows the call in the test, not the frames of this module
VERSION = "world.inkube.dev/v1"
HOSTS = f"{VERSION}/githosts"
APPS = f"{VERSION}/githubapps"


class ScriptedWorld:
    """Simulated systems: `world.git_host("github.com", {"grafana/grafana": ["main"]})` creates a
    host."""

    def __init__(self, kube: Kube) -> None:
        self._kube = kube

    @arguments.checked("world", name=arguments.TEXT, repositories=arguments.MAPPING)
    def git_host(
        self,
        name: str,
        repositories: Mapping[str, Sequence[str]],
        *,
        tokens: Mapping[str, bool] | None = None,
    ) -> Object:
        """Create a host with repositories and their branches. The first branch is the default
        branch.

        `tokens`: the accepted tokens, and whether they can write; without tokens, all clients can
        write.
        """
        listed = [
            {"path": path, "branches": list(branches)} for path, branches in repositories.items()
        ]
        spec: Object = {"repositories": listed}
        if tokens is not None:
            spec["tokens"] = [{"value": value, "write": write} for value, write in tokens.items()]
        return self._put(HOSTS, "GitHost", name, spec)

    @arguments.checked("world", app_id=arguments.TEXT)
    def github_app(
        self,
        app_id: str,
        installations: Sequence[str] = (),
        *,
        permissions: Mapping[str, str] | None = None,
        public_key: str = "",
    ) -> Object:
        """Create a GitHub App and its installations. Without `permissions`, it has all required
        ones."""
        spec: Object = {"installations": [{"id": number} for number in installations]}
        if permissions is not None:
            spec["permissions"] = dict(permissions)
        if public_key:
            spec["publicKey"] = public_key
        return self._put(APPS, "GitHubApp", app_id, spec)

    @arguments.checked("world", scenario=arguments.TEXT)
    def load(self, scenario: str) -> "scenarios.Scenario":
        """Set up a scenario, as `inkube world load` does. Its `example` is an example of its use.

        Raises ValueError for an unknown name.
        """
        found = scenarios.find(scenario)
        for obj in found.world:
            kind = obj["kind"]
            self._put(f"{VERSION}/{kind.lower()}s", kind, obj["metadata"]["name"], obj["spec"])
        return found

    @arguments.checked("world", host=arguments.TEXT, delay=arguments.NUMBER)
    def outage(self, host: str, code: int | None = None, *, delay: float = 0.0) -> None:
        """Let the host return this code, or delay responses by these seconds, or both."""
        outage = {"delayMilliseconds": round(delay * 1000), "code": code}
        self._patch(HOSTS, host, {"outage": outage})

    @arguments.checked("world", host=arguments.TEXT)
    def recover(self, host: str) -> None:
        """End the outage of a host."""
        self._patch(HOSTS, host, {"outage": None})

    @arguments.checked(
        "world", host=arguments.TEXT, repository=arguments.TEXT, branch=arguments.TEXT
    )
    def add_branch(self, host: str, repository: str, branch: str) -> None:
        """Add a branch to a repository."""
        self._branches(host, repository, add=[branch])

    @arguments.checked(
        "world", host=arguments.TEXT, repository=arguments.TEXT, branch=arguments.TEXT
    )
    def remove_branch(self, host: str, repository: str, branch: str) -> None:
        """Remove a branch from a repository."""
        self._branches(host, repository, remove=[branch])

    def _branches(
        self, host: str, path: str, *, add: Sequence[str] = (), remove: Sequence[str] = ()
    ) -> None:
        spec = self._kube.client.get(HOSTS, host)["spec"]
        for repository in spec["repositories"]:
            if repository["path"] == path:
                kept = [name for name in repository.get("branches", ()) if name not in remove]
                repository["branches"] = [*kept, *add]
                break
        else:
            raise ValueError(f"{host} has no repository {path}")
        self._patch(HOSTS, host, {"repositories": spec["repositories"]})

    def _put(self, resource: str, kind: str, name: str, spec: Object) -> Object:
        client = self._kube.client
        obj: Object = {"apiVersion": VERSION, "kind": kind, "metadata": {"name": name}}
        try:
            stored = client.get(resource, name)
        except StatusError as error:
            if error.reason != Reason.NOT_FOUND:
                raise
            found = client.create({**obj, "spec": spec})
        else:
            found = client.update({**stored, "spec": spec})
        self._kube.settled()
        return found

    def _patch(self, resource: str, name: str, spec: Object) -> None:
        self._kube.client.patch(resource, name, patch={"spec": spec})
        self._kube.settled()
