"""One notation for resources, which clients in the process, Faults and tests read.

A resource is its plural, singular, kind or short name, alone or with its group, or as in a path:
`pods`, `po`, `Pod`, `deployments.apps`, `Deployment.apps`, `apps/v1/deployments`, `v1/pods`. A
subresource is at the end: `deployments.apps/scale`.
"""

import re
from typing import NamedTuple, Self

from inkube.schemas.definitions import Names

_VERSION = re.compile(r"v[0-9]+(?:(?:alpha|beta)[0-9]+)?")


class Notation(NamedTuple):
    """A resource as users write it. `group` is None, and `version` "", where they are not given."""

    name: str
    group: str | None = None
    version: str = ""
    subresource: str = ""

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read a resource. Every text is one, though nothing may be served by that name."""
        head, *rest = text.split("/")
        if rest and _VERSION.fullmatch(head):
            return cls(rest[0], "", head, "/".join(rest[1:]))
        if len(rest) > 1 and _VERSION.fullmatch(rest[0]):
            return cls(rest[1], head, rest[0], "/".join(rest[2:]))
        name, dot, group = head.partition(".")
        return cls(name, group if dot else None, "", "/".join(rest))

    def means(self, group: str, names: Names) -> bool:
        """Return whether this is the resource of a group with these names."""
        if self.group not in (None, group):
            return False
        name = self.name.lower()
        known = (names.plural, names.singular or names.kind.lower(), *names.short_names)
        return name in known or name == names.kind.lower()
