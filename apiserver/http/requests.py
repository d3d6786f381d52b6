"""From method, path and query to a RequestInfo: the verb, the resource and the name of an object.

Only this module splits paths and queries. Authorization, routing and handlers read the same
RequestInfo, so they cannot interpret a request differently. The functions take strings and do not
depend on the served resources. Follows apiserver/pkg/endpoints/request/requestinfo.go.
"""

import ipaddress
import re
from typing import NamedTuple
from urllib.parse import unquote

from aiohttp import web
from multidict import MultiDict, MultiDictProxy, istr

from inkube.schemas import caches, selectors, status
from inkube.schemas.golang import urlquery

WATCHES = frozenset({"watch", "watchone"})
"""The verbs of watches."""
STREAMING_SUBRESOURCES = frozenset({"attach", "exec", "log", "portforward", "proxy"})
"""Subresources without a time limit (`--long-running-request-regexp`)."""
_VERBS = {"POST": "create", "GET": "get", "HEAD": "get", "PUT": "update", "PATCH": "patch"}
_READS = frozenset({"GET", "HEAD"})
_NAMESPACE_SUBRESOURCES = frozenset({"status", "finalize"})
_DEPRECATED_PREFIXES = frozenset({"watch", "proxy"})  # before the resource: /api/v1/watch/pods
# Most requests repeat an earlier target. A cache lookup takes a tenth of a split. At most 5 MiB.
MAX_CACHED = 2048
MAX_CACHED_LENGTH = 512
_NO_QUERY: MultiDictProxy[str] = MultiDictProxy(MultiDict())
_NAME_SELECTING_VERBS = frozenset({"list", "watch"})
_AUDIT_ID = istr("Audit-Id")  # a sixth of the time of a str, for every request
_SECRET = re.compile(r"token|password|secret|credential|api.?key", re.IGNORECASE)
"""Names of query parameters whose values are not logged."""
_DRY_RUN_IN_LABELS = 5
_HAS_NAMESPACE = "1"  # the beginning of a shape
_RESOURCE_AT = {"api": 2, "apis": 3}  # /api/VERSION/RESOURCE, /apis/GROUP/VERSION/RESOURCE


class RequestInfo(NamedTuple):
    """The parsed method, path and query of a request. `resource` is "" for other paths."""

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
    further_segments: tuple[str, ...] = ()
    """Path segments beyond the subresource."""
    deprecated_prefix: str = ""
    """`watch` or `proxy` if that precedes the resource (/api/v1/watch/pods), else ""."""
    query: MultiDictProxy[str] = _NO_QUERY
    assumes_namespace: bool = False
    """Whether `namespace` is not from the path, but the namespace of all objects of the kind."""
    selected_name: str = ""
    """The only name that the field selector of a list or watch allows; "" if it allows more."""
    shape: str = ""
    """What selects the handler, with `/` between its parts: whether the path has a namespace, a
    name and further segments, then verb, group, version, resource, subresource, method and
    `deprecated_prefix`; "" without a resource. A text, because the hash of a tuple is computed for
    each lookup."""
    flow_key: str = ""
    """What selects the flow of a user's requests: the namespace and the shape, or `//`, the verb
    and the path without a resource. Neither a namespace nor a part of a shape has a `/`."""
    labels: tuple[str, ...] = ()
    """The labels of its metrics (`Metrics.series`); () without a resource."""


def read(request: web.BaseRequest) -> RequestInfo:
    """Return the RequestInfo of a request."""
    target = request.raw_path
    if len(target) <= MAX_CACHED_LENGTH and target.startswith("/") and "#" not in target:
        return _read(request.method, target)
    url = request.rel_url
    return parse(request.method, url.raw_path, url.raw_query_string)


@caches.of_values(MAX_CACHED)
def _read(method: str, target: str) -> RequestInfo:
    path, _, query = target.partition("?")
    return parse(method, path, query)


def loggable_target(request: web.BaseRequest) -> str:
    """Return the path and the query of a request for logs, as the client sent them
    (`without_secrets`)."""
    target = request.raw_path
    if not target.startswith("/"):  # a whole URL
        target = request.rel_url.raw_path_qs
    path, _, query = target.partition("?")
    return f"{path}?{without_secrets(query)}" if query else path


def given_id(request: web.BaseRequest) -> str:
    """Return the id that the client gave a request for the audit log, or ""."""
    given = request.headers.get(_AUDIT_ID)
    return given if given and given.isascii() and given.isprintable() else ""


def source_addresses(request: web.BaseRequest) -> list[str]:
    """Return the addresses that proxies name, which clients can invent, and then that of the
    connection (apimachinery/pkg/util/net, SourceIPs)."""
    forwarded = request.headers.get("X-Forwarded-For", "").split(",")
    found = [address for text in forwarded if (address := _address(text))]
    real = _address(request.headers.get("X-Real-Ip", ""))
    if real and real not in found:
        found.append(real)
    # a socket of both families names clients of IPv4 in IPv6
    own = (request.remote or "").removeprefix("::ffff:")
    return found if not own or found[-1:] == [own] else [*found, own]


def _address(text: str) -> str:
    try:
        return str(ipaddress.ip_address(text.strip())) if text else ""
    except ValueError:
        return ""


def is_path(pattern: str, path: str) -> bool:
    """Return whether a path is the one in a rule, or begins as one that ends with `*`."""
    return path.startswith(pattern[:-1]) if pattern.endswith("*") else pattern == path


def raw_target(request: web.BaseRequest) -> str:
    """Return the target of a request as its client sent it, for messages that repeat it."""
    return request.raw_path


def parse(method: str, raw_path: str, raw_query: str = "") -> RequestInfo:
    """Split a raw (percent-encoded) path and query. A path with empty segments is not a resource's.

    As in Go, the path is decoded before the split: an escaped slash separates segments, too.
    """
    if not raw_query:
        return _split(method, raw_path, False)
    query = _query(raw_query)
    watch = urlquery.truthy(query.get("watch"))
    info = _split(method, raw_path, watch)
    selected_name = ""
    if (
        info.verb in _NAME_SELECTING_VERBS
        and not info.deprecated_prefix
        and "fieldSelector" in query
    ):
        selected_name = _selected_name(query["fieldSelector"])
    labels = info.labels
    if labels and "dryRun" in query:  # other values than `All` are refused
        labels = (*labels[:_DRY_RUN_IN_LABELS], "All", *labels[_DRY_RUN_IN_LABELS + 1 :])
    return info._replace(query=query, selected_name=selected_name, labels=labels)


def without_secrets(query: str) -> str:
    """Return a raw query for logs: the values of parameters with tokens and passwords are left out.

    kube-apiserver reads tokens from headers only, but servers behind its proxy read `access_token`.
    """
    return "&".join(map(_without_secret, query.split("&"))) if "=" in query else query


def _without_secret(pair: str) -> str:
    name, _, value = pair.partition("=")
    return f"{name}=REDACTED" if value and _SECRET.search(unquote(name)) else pair


def with_namespace(info: RequestInfo, namespace: str) -> RequestInfo:
    """Return the same request with that namespace, for a path without one."""
    shape = f"{_HAS_NAMESPACE}{info.shape[1:]}"
    return info._replace(
        namespace=namespace, assumes_namespace=True, shape=shape, flow_key=f"{namespace}/{shape}"
    )


def _query(raw: str) -> MultiDictProxy[str]:
    return _cached_query(raw) if len(raw) <= MAX_CACHED_LENGTH else _read_query(raw)


def _read_query(raw: str) -> MultiDictProxy[str]:
    return MultiDictProxy(MultiDict(urlquery.pairs(raw)))


_cached_query = caches.of_values(MAX_CACHED)(_read_query)


def _selected_name(fields: str) -> str:
    """Return the only name that a field selector allows, if it can be a path segment, else ""."""
    try:
        name = selectors.selected_name(fields)
    except status.StatusError:
        return ""  # the handler refuses it after authorization
    return "" if name in (".", "..") or "/" in name or "%" in name else name


def _split(method: str, raw_path: str, watch: bool) -> RequestInfo:
    if len(raw_path) > MAX_CACHED_LENGTH:
        return _parse(method, raw_path, watch)
    return _cached_parse(method, raw_path, watch)


def _parse(method: str, raw_path: str, watch: bool) -> RequestInfo:
    path = raw_path if "%" not in raw_path else unquote(raw_path)
    parts = path.strip("/").split("/")
    at = _RESOURCE_AT.get(parts[0], len(parts))
    if at >= len(parts) or "" in parts or path.startswith("//"):
        verb = method.lower()
        return RequestInfo(method, path, verb, flow_key=f"//{verb} {path}")
    group, version = parts[1] if at == 3 else "", parts[at - 1]
    deprecated_prefix = ""
    if parts[at] in _DEPRECATED_PREFIXES and len(parts) > at + 1:
        deprecated_prefix = parts[at]
        at += 1
    namespace = ""
    if parts[at] == "namespaces" and len(parts) > at + 1:
        namespace = parts[at + 1]
        at += 0 if _is_namespace(parts[at:]) else 2
    resource, remaining = parts[at], len(parts) - at
    name = parts[at + 1] if remaining > 1 else ""
    subresource = parts[at + 2] if remaining > 2 else ""
    further_segments = tuple(parts[at + 3 :]) if remaining > 3 else ()
    verb = _verb(method, name, watch and not subresource)
    if deprecated_prefix:
        verb = _deprecated_verb(method, name, deprecated_prefix, verb)
    group_version = parts[0], group, version, namespace
    identity = resource, name, subresource
    presence = f"{namespace != '':d}{name != '':d}{further_segments != ():d}"
    served = verb, group, version, resource, subresource
    list_scope = "namespace" if namespace else "cluster"
    labels = *served, "", "resource" if name or verb == "create" else list_scope
    shape = "/".join((presence, *served, method, deprecated_prefix))
    return RequestInfo(
        method,
        path,
        verb,
        True,
        *group_version,
        *identity,
        further_segments,
        deprecated_prefix,
        shape=shape,
        flow_key=f"{namespace}/{shape}",
        labels=labels,
    )


_cached_parse = caches.of_values(MAX_CACHED)(_parse)


def _deprecated_verb(method: str, name: str, prefix: str, verb: str) -> str:
    if prefix == "proxy":
        return "proxy"
    if method not in _READS:
        return verb
    return "watchone" if name else "watch"


def _is_namespace(segments: list[str]) -> bool:
    """Return whether `namespaces/NAME…` addresses the namespace itself, not an object in it."""
    return len(segments) == 2 or (len(segments) == 3 and segments[2] in _NAMESPACE_SUBRESOURCES)


def _verb(method: str, name: str, watch: bool) -> str:
    if method in _READS:
        if name:
            return "get"
        return "watch" if watch else "list"
    if method == "DELETE":
        return "delete" if name else "deletecollection"
    return _VERBS.get(method, "")
