"""From method and path to a RequestInfo: which verb on which resource.

Pure functions over strings; nothing here knows what is served. Follows
apiserver/pkg/endpoints/request/requestinfo.go.
"""

from typing import NamedTuple
from urllib.parse import unquote

_VERBS = {"POST": "create", "GET": "get", "HEAD": "get", "PUT": "update", "PATCH": "patch"}
_NAMESPACE_SUBRESOURCES = frozenset({"status", "finalize"})


class RequestInfo(NamedTuple):
    """What a request asks for. `resource` is "" for paths that name no resource."""

    method: str
    path: str
    verb: str
    is_resource: bool = False
    prefix: str = ""
    group: str = ""
    version: str = ""
    namespace: str = ""
    resource: str = ""
    name: str = ""
    subresource: str = ""
    rest: tuple[str, ...] = ()
    """Path segments beyond the subresource."""


def parse(method: str, raw_path: str, *, watch: bool = False) -> RequestInfo:
    """Split a raw (still percent-encoded) path. Empty segments make it a plain path.

    Escapes are undone before the split, as Go does: an escaped slash divides like any other.
    """
    path = raw_path if "%" not in raw_path else unquote(raw_path)
    parts = path.strip("/").split("/") if path != "/" else []
    plain = RequestInfo(method, path, method.lower())
    if "" in parts or path.startswith("//"):
        return plain
    if len(parts) >= 3 and parts[0] == "api":
        group, version, rest = "", parts[1], parts[2:]
    elif len(parts) >= 4 and parts[0] == "apis":
        group, version, rest = parts[1], parts[2], parts[3:]
    else:
        return plain
    return _resource_info(plain, (parts[0], group, version), rest, watch)


def _resource_info(
    plain: RequestInfo, where: tuple[str, str, str], rest: list[str], watch: bool
) -> RequestInfo:
    deprecated = rest[0] if rest[0] in ("watch", "proxy") and len(rest) > 1 else ""
    if deprecated:
        rest = rest[1:]
    namespace, rest = _namespace(rest)
    resource, name, subresource = (*rest, "", "", "")[:3]
    verb = _verb(plain.method, name, watch and not subresource)
    if deprecated == "watch" and plain.method in ("GET", "HEAD"):
        verb = "watch" if not name else "watchone"
    elif deprecated == "proxy":
        verb = "proxy"
    return RequestInfo(
        plain.method,
        plain.path,
        verb,
        True,
        *where,
        namespace,
        resource,
        name,
        subresource,
        tuple(rest[3:]),
    )


def _namespace(rest: list[str]) -> tuple[str, list[str]]:
    """Take `namespaces/NS` off the front; a namespace itself is a resource of its own."""
    if rest[0] != "namespaces" or len(rest) < 2:
        return "", rest
    if len(rest) == 2 or (len(rest) == 3 and rest[2] in _NAMESPACE_SUBRESOURCES):
        return rest[1], rest
    return rest[1], rest[2:]


def _verb(method: str, name: str, watch: bool) -> str:
    if method in ("GET", "HEAD"):
        if name:
            return "get"
        return "watch" if watch else "list"
    if method == "DELETE":
        return "delete" if name else "deletecollection"
    return _VERBS.get(method, "")
