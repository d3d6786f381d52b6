"""The resources that the last pull of each repository created; they are not stored in a database.

They exist as long as the process and the Repository; after a restart, the next pull creates them
again. The number of repositories and the limits of a tree bound their memory.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from inkube.client import Object
from inkube.controllers.provisioning.manifests import DeclaredResource
from inkube.kinds import Key


@dataclass(frozen=True, slots=True)
class PullResult:
    """The result of a pull, and the generation of the Repository at that time."""

    uid: str
    generation: int
    resources: Sequence[DeclaredResource] = ()
    time: int = 0
    """The time of the pull, in milliseconds since the epoch."""

    def counts(self) -> list[Object]:
        """`status.stats`."""
        found = Counter((each.group, each.resource) for each in self.resources)
        return [
            {"group": group, "resource": resource, "count": count}
            for (group, resource), count in sorted(found.items())
        ]


class Pulls:
    """The latest pull of every repository."""

    def __init__(self, most_resources: int = 0) -> None:
        self.most_resources = most_resources
        """The maximum number of resources in one repository; 0 means no limit."""
        self._results: dict[Key, PullResult] = {}
        self._requested: set[Key] = set()

    def of(self, key: Key, uid: str) -> PullResult | None:
        """Return the latest pull of the repository with that UID; None if it was not pulled."""
        found = self._results.get(key)
        return found if found is not None and found.uid == uid else None

    def keep(self, key: Key, result: PullResult) -> None:
        """Record a pull."""
        self._results[key] = result

    def forget(self, key: Key) -> None:
        """Forget the pull of a repository that is deleted, or that must be read again."""
        self._results.pop(key, None)
        self._requested.discard(key)

    def request(self, key: Key) -> None:
        """Request another pull of a repository after the running one, which has perhaps read the
        branch already."""
        self._requested.add(key)

    def take_request(self, key: Key) -> bool:
        """Return whether another pull was requested, and forget the request."""
        is_requested = key in self._requested
        self._requested.discard(key)
        return is_requested
