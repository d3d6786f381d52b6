"""What the last pull of each repository made: its resources, which no database keeps.

It lives as long as the process and its Repository; after a restart the next pull makes it anew.
Bounded by the repositories there are and by what one tree may hold.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from inkube.controllers.client import Object
from inkube.controllers.informer import Key
from inkube.controllers.provisioning.manifests import Found


@dataclass(frozen=True, slots=True)
class Pulled:
    """The outcome of a pull, and the generation of the Repository it was made for."""

    uid: str
    generation: int
    resources: Sequence[Found] = ()
    when: int = 0
    """Milliseconds since the epoch."""

    def counts(self) -> list[Object]:
        """`status.stats`."""
        found = Counter((each.group, each.resource) for each in self.resources)
        return [
            {"group": group, "resource": resource, "count": count}
            for (group, resource), count in sorted(found.items())
        ]


class Pulls:
    """The newest pull of every repository."""

    def __init__(self, most_resources: int = 0) -> None:
        self.most_resources = most_resources
        """So many one repository may have; 0 means no limit."""
        self._pulled: dict[Key, Pulled] = {}

    def of(self, key: Key, uid: str) -> Pulled | None:
        """What was pulled for this very object."""
        found = self._pulled.get(key)
        return found if found is not None and found.uid == uid else None

    def keep(self, key: Key, pulled: Pulled) -> None:
        """Note a pull."""
        self._pulled[key] = pulled

    def forget(self, key: Key) -> None:
        """The repository is gone, or has to be read anew."""
        self._pulled.pop(key, None)
