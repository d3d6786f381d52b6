"""Names of kinds and resources, times and identities: the vocabulary of metadata."""

from datetime import UTC, datetime
from typing import NamedTuple

from inkube.schemas.objects import Object


class GVK(NamedTuple):
    """Group, version and kind; the core group is ""."""

    group: str
    version: str
    kind: str

    @property
    def api_version(self) -> str:
        """`group/version`, or `v1` in the core group."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @classmethod
    def of(cls, api_version: str, kind: str) -> "GVK":
        """From the apiVersion and kind of an object."""
        group, version = split_api_version(api_version)
        return cls(group, version, kind)


class GVR(NamedTuple):
    """Group, version and resource (the plural); the core group is ""."""

    group: str
    version: str
    resource: str

    @property
    def api_version(self) -> str:
        """`group/version`, or `v1` in the core group."""
        return f"{self.group}/{self.version}" if self.group else self.version

    def __str__(self) -> str:
        """Return the text that `parse` reads."""
        return f"{self.api_version}/{self.resource}"

    def path(self, namespace: str = "", name: str = "") -> str:
        """Return the path of a list, or with a name that of an object, on an API server."""
        place = f"/namespaces/{namespace}" if namespace else ""
        path = f"/{'apis' if self.group else 'api'}/{self.api_version}{place}/{self.resource}"
        return f"{path}/{name}" if name else path

    @classmethod
    def parse(cls, text: str) -> "GVR":
        """Read `apps/v1/deployments` or `v1/configmaps`. Raises ValueError on anything else."""
        parts = text.split("/")
        if len(parts) == 2:
            parts.insert(0, "")
        if len(parts) != 3 or not parts[1] or not parts[2]:
            raise ValueError(f"{text!r} is not a resource; write group/version/plural or v1/plural")
        return cls(*parts)


def split_api_version(api_version: str) -> tuple[str, str]:
    """`apps/v1` → (`apps`, `v1`); `v1` → ("", `v1`)."""
    group, slash, version = api_version.rpartition("/")
    return (group, version) if slash else ("", api_version)


def canonical_api_version(api_version: str) -> str:
    """Return an apiVersion as Go prints it after parsing: `/v1` is `v1`, `/` is "", and a text with
    more than one slash, which does not parse, is "/".

    Follows apimachinery/pkg/runtime/schema (ParseGroupVersion, GroupVersion.String).
    """
    if api_version.count("/") > 1:
        return "/"
    return api_version.removeprefix("/")


def controller_reference(owner: Object) -> Object:
    """Return the owner reference for objects that `owner` controls (metav1.NewControllerRef)."""
    return {
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": owner["metadata"]["name"],
        "uid": owner["metadata"]["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }


def format_time(moment: datetime) -> str:
    """metav1.Time: RFC 3339 in UTC, whole seconds."""
    if moment.tzinfo is not UTC:
        moment = moment.astimezone(UTC)
    return f"{moment.isoformat()[:19]}Z"


def format_micro_time(moment: datetime) -> str:
    """metav1.MicroTime: RFC 3339 in UTC with six digits."""
    return f"{moment.astimezone(UTC).isoformat(timespec='microseconds')[:26]}Z"


def changed_managers(old: Object | None, new: Object) -> list[str]:
    """Return the field managers that made a change: those whose managed fields changed. If none
    changed, because a manager wrote twice within a second, those with the latest time."""
    before, now = _managed_fields(old or {}), _managed_fields(new)
    changed = [part for part in now if part not in before]
    last = max((part.get("time", "") for part in now), default="")
    changed = changed or [part for part in now if part.get("time", "") == last]
    return list(dict.fromkeys(str(part.get("manager", "")) for part in changed))


def _managed_fields(obj: Object) -> list[Object]:
    return list((obj.get("metadata") or {}).get("managedFields") or [])
