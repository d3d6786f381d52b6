"""The versions of built-in kinds that Kubernetes removed, from `removed.txt`."""

from pathlib import Path
from typing import NamedTuple

from inkube.schemas import caches
from inkube.schemas.meta import GVK

_NOTHING = "-"
_HINT_NOTHING = "no other version replaces it"
_NO_POD_SECURITY = "use Pod Security admission instead: labels of the namespace"


class Removal(NamedTuple):
    """The end of a version: the first minor without it, and its replacement, "" without one."""

    minor: int
    replacement: str

    def is_between(self, old: int, new: int) -> bool:
        """Return whether the first minor without the version is after `old`, and `new` at the
        latest."""
        return old < self.minor <= new

    def hint(self, gvk: GVK, minor: int) -> str:
        """Return what happened to a version that a minor does not serve, and what to do."""
        verb = "was removed in" if self.minor <= minor else "is off by default and ends with"
        return f"{gvk.api_version} {gvk.kind} {verb} Kubernetes 1.{self.minor}; {self.advice(gvk)}"

    def advice(self, gvk: GVK) -> str:
        """Return what to do."""
        if gvk.kind == "PodSecurityPolicy":
            return _NO_POD_SECURITY
        return f"use {self.replacement}" if self.replacement else _HINT_NOTHING


@caches.of_values(1)
def _table() -> dict[tuple[str, str], Removal]:
    found: dict[tuple[str, str], Removal] = {}
    for line in Path(__file__).with_name("removed.txt").read_text().splitlines():
        if line and not line.startswith("#"):
            api_version, minor, kinds, replacement = line.split()
            removal = Removal(
                int(minor.removeprefix("1.")), "" if replacement == _NOTHING else replacement
            )
            found |= {(api_version, kind): removal for kind in kinds.split(",")}
    return found


def removal_of(gvk: GVK) -> Removal | None:
    """Return the removal of a version of a kind, None for one that is not in the table."""
    return _table().get((gvk.api_version, gvk.kind))


def removal_of_version(api_version: str) -> Removal | None:
    """Return the removal of a version of a group, None if no kind of it is in the table."""
    return next((found for (name, _), found in _table().items() if name == api_version), None)
