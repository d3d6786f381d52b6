"""A Registration: what an APIService says of the group and version it is about.

Besides a service, inkube knows an address: the annotation `aggregation.inkube.dev/url` says where
an aggregated API server listens, for there is no cluster network to find a service in.
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
        """The name that the server's certificate has to be for."""
        return f"{self.name}.{self.namespace}.svc"


class Registration(NamedTuple):
    """One APIService. With neither service nor URL the group is served by this process itself."""

    name: str
    group: str
    version: str
    group_priority: int
    version_priority: int
    service: Service | None = None
    url: str = ""
    bundle: str = ""
    """Authorities of the server's certificate: PEM in base64; "" are the system's."""
    insecure: bool = False
    """Whether any certificate will do."""
    available: bool = False

    @property
    def is_remote(self) -> bool:
        """Whether requests are passed on to another server."""
        return self.service is not None or bool(self.url)

    @classmethod
    def of(cls, obj: Object) -> Self:
        """Read an APIService."""
        meta, spec = obj["metadata"], obj.get("spec") or {}
        wanted, service = spec.get("service"), None
        if wanted is not None:
            port = wanted.get("port") or PORT
            service = Service(wanted.get("namespace", ""), wanted.get("name", ""), port)
        found = condition(obj)
        return cls(
            meta.get("name", ""),  # which one that is to be created may still lack
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
    """Whether an APIService is available, and why; None where nobody has said so."""
    found = (obj.get("status") or {}).get("conditions") or ()
    return next((one for one in found if one.get("type") == AVAILABLE), None)


def local(now: str) -> Object:
    """The condition of what this process serves itself (NewLocalAvailableAPIServiceCondition)."""
    return {
        "type": AVAILABLE,
        "status": "True",
        "lastTransitionTime": now,
        "reason": "Local",
        "message": "Local APIServices are always available",
    }


def url_problem(url: str) -> str:
    """Why nobody can be reached at that address; "" where somebody might."""
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
    """Groups by their highest priority, then by name; in each the versions, preferred ones first.

    As SortedByGroupAndVersion.
    """
    groups: dict[str, list[Registration]] = {}
    for one in sorted(registrations, key=lambda one: (-one.group_priority, one.name)):
        groups.setdefault(one.group, []).append(one)
    for versions in groups.values():
        versions.sort(key=lambda one: (-one.version_priority, preference(one.version)))
    return list(groups.values())
