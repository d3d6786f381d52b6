"""A Registration: the content of an APIService for its group and version.

In addition to a service, inkube supports a URL: the annotation `aggregation.inkube.dev/url`
contains the address of an aggregated API server, because there is no cluster network in which a
service could be found.
"""

from collections.abc import Iterable
from typing import NamedTuple, Self
from urllib.parse import urlsplit

from inkube.schemas.objects import Object
from inkube.schemas.versions import preference

URL = "aggregation.inkube.dev/url"
"""An annotation with the URL of a server, `http[s]://HOST[:PORT]`. It precedes the address of a
service."""
MANAGED = "kube-aggregator.kubernetes.io/automanaged"
"""A label of APIServices that the server maintains itself, with the value `onstart` or `true`."""
AVAILABLE = "Available"
PORT = 443
GROUP_PRIORITIES = {
    "": 18000, "apps": 17800, "events.k8s.io": 17750, "authentication.k8s.io": 17700,
    "authorization.k8s.io": 17600, "autoscaling": 17500, "batch": 17400,
    "certificates.k8s.io": 17300, "networking.k8s.io": 17200, "policy": 17100,
    "rbac.authorization.k8s.io": 17000, "storage.k8s.io": 16800, "apiextensions.k8s.io": 16700,
    "admissionregistration.k8s.io": 16700, "scheduling.k8s.io": 16600,
    "coordination.k8s.io": 16500, "node.k8s.io": 16300, "discovery.k8s.io": 16200,
    "resource.k8s.io": 16200, "flowcontrol.apiserver.k8s.io": 16100,
}  # fmt: skip
"""The priorities of the groups that the server serves itself (aggregator.go,
defaultGenericAPIServicePriorities)."""
_VERSION_PRIORITIES = {
    ("", "v1"): 1,
    ("autoscaling", "v2"): 30,
    ("flowcontrol.apiserver.k8s.io", "v1"): 21,
    ("resource.k8s.io", "v1"): 21,
}
FIRST_PRIORITY = 20000
"""The priority of the group of APIServices, which precedes all others."""
CUSTOM_PRIORITY = 1000
"""The priority of groups of custom resources (crd_registration_controller.go)."""


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
            (meta.get("annotations") or {}).get(URL, ""),
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


def version_priority(group: str, version: str) -> int:
    """Return the versionPriority of a built-in version."""
    return _VERSION_PRIORITIES.get((group, version), 15)
