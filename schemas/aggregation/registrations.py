"""A Registration: the content of an APIService for its group and version.

In addition to a service, inkube supports a URL: the annotation `aggregation.inkube.dev/url`
contains the address of an aggregated API server, because there is no cluster network in which a
service could be found.
"""

from collections.abc import Iterable
from typing import NamedTuple, Self
from urllib.parse import urlsplit

from inkube.schemas.aggregation import marks
from inkube.schemas.objects import Object
from inkube.schemas.versions import preference

AVAILABLE = "Available"
PORT = 443


class Service(NamedTuple):
    """A reference to a service."""

    namespace: str
    name: str
    port: int = PORT

    @property
    def host(self) -> str:
        """The hostname in the server's certificate."""
        return f"{self.name}.{self.namespace}.svc"


class Registration(NamedTuple):
    """One APIService. Without a service and a URL, this process serves the group itself."""

    name: str
    group: str
    version: str
    group_priority: int
    version_priority: int
    service: Service | None = None
    url: str = ""
    bundle: str = ""
    """The certificate authorities of the server, as PEM in base64; "" means those of the system."""
    insecure: bool = False
    """Whether the server's certificate is not verified."""
    available: bool = False

    @property
    def is_remote(self) -> bool:
        """Whether requests are forwarded to another server."""
        return self.service is not None or bool(self.url)

    @classmethod
    def of(cls, obj: Object) -> Self:
        """Return the registration of an APIService."""
        meta, spec = obj["metadata"], obj.get("spec") or {}
        wanted, service = spec.get("service"), None
        if wanted is not None:
            port = wanted.get("port") or PORT
            service = Service(wanted.get("namespace", ""), wanted.get("name", ""), port)
        found = condition(obj)
        return cls(
            meta.get("name", ""),  # missing in a new object without a name
            spec.get("group", ""),
            spec.get("version", ""),
            spec.get("groupPriorityMinimum", 0),
            spec.get("versionPriority", 0),
            service,
            (meta.get("annotations") or {}).get(marks.URL, ""),
            spec.get("caBundle") or "",
            bool(spec.get("insecureSkipTLSVerify")),
            found is not None and found.get("status") == "True",
        )


def condition(obj: Object) -> Object | None:
    """Return the Available condition of an APIService, or None without one."""
    found = (obj.get("status") or {}).get("conditions") or ()
    return next((one for one in found if one.get("type") == AVAILABLE), None)


def local(now: str) -> Object:
    """Return the condition of a group that this process serves
    (NewLocalAvailableAPIServiceCondition)."""
    return {
        "type": AVAILABLE,
        "status": "True",
        "lastTransitionTime": now,
        "reason": "Local",
        "message": "Local APIServices are always available",
    }


def url_problem(url: str) -> str:
    """Return why a URL is not valid, or "" for a valid one."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        return str(error)
    if parts.scheme not in ("http", "https") or not parts.hostname or port == 0:
        return "must be http://HOST[:PORT] or https://HOST[:PORT]"
    if parts.path.strip("/") or parts.query or parts.fragment or "@" in parts.netloc:
        return "must have neither user, path, query nor fragment"
    return ""


def by_group(registrations: Iterable[Registration]) -> list[list[Registration]]:
    """Return the registrations by group. Groups are sorted by their highest priority and then by
    name, and the versions of a group by preference.

    As SortedByGroupAndVersion.
    """
    groups: dict[str, list[Registration]] = {}
    for one in sorted(registrations, key=lambda each: (-each.group_priority, each.name)):
        groups.setdefault(one.group, []).append(one)
    for versions in groups.values():
        versions.sort(key=lambda each: (-each.version_priority, preference(each.version)))
    return list(groups.values())
