"""Discovery: the served groups, versions and resources.

Documents are built from the table of served kinds at the first request, and kept until the table
changes. Follows apiserver/pkg/endpoints/discovery and its aggregated form.
"""

import base64
import hashlib
from collections.abc import Sequence
from typing import Any

import orjson
from aiohttp import hdrs, web
from multidict import CIMultiDict

from inkube.apiserver.http import BodyResponse, RequestInfo, negotiation, responses
from inkube.apiserver.registry import Resources, User
from inkube.schemas import releases, status, wordings
from inkube.schemas.aggregation import Registration, registrations
from inkube.schemas.definitions import Definition
from inkube.schemas.meta import GVR
from inkube.schemas.objects import Object
from inkube.schemas.versions import preference

AGGREGATED = "application/json;g=apidiscovery.k8s.io;v={version};as=APIGroupDiscoveryList"


class Discovery:
    """Serves `/api`, `/apis` and the paths below them, in the plain and the aggregated form."""

    def __init__(self, resources: Resources, minor: int = releases.NEWEST.minor) -> None:
        # before 1.34 (Go's `omitzero`), an unset time was null
        self._no_time: Object = {} if minor >= 34 else {"creationTimestamp": None}
        self._resources = resources
        self._revision = -1
        self._kinds: dict[str, list[Definition]] = {}
        self._groups: dict[str, list[str]] = {}
        self._documents: dict[str, tuple[bytes, str]] = {}

    async def __call__(
        self, request: web.BaseRequest, info: RequestInfo, user: User
    ) -> web.StreamResponse:
        """Respond to a request for `/api…` or `/apis…`."""
        parts = [part for part in info.path.strip("/").split("/") if part]
        self._refresh(await self._resources.definitions())
        groups = self._groups
        if parts in (["api"], ["apis"]):
            if parts == ["api"] and info.method != "GET":
                raise status.method_not_allowed()
            return self._root(request, info, parts[0])
        group = "" if parts[0] == "api" else parts[1]
        version = parts[1] if parts[0] == "api" else (parts[2] if len(parts) > 2 else "")
        if (parts[0] == "apis" and group == "") or group not in groups:
            return responses.plain_not_found()
        wording = self._wording(group)
        if version and version not in groups[group]:
            return responses.unknown_path(plain=wording.unknown_is_plain)
        if version and not self._kinds.get(group):
            return responses.plain_not_found()  # local, but not served
        verb = "get" if info.method == "GET" else info.method  # a method `get` is another one
        if version and not wording.allows(info.method, verb, "", ("get",)):
            raise wording.method_not_allowed(GVR(group, version, ""), info.verb)
        if version and wording.is_routed:
            negotiation.route(request.headers.get(hdrs.ACCEPT))
        form = negotiation.requested_form(request, info.query, transforms=())
        if version:
            return responses.render(self.resource_list(group, version), form)
        return responses.render(
            {"kind": "APIGroup", "apiVersion": "v1", **self._group(group)}, form
        )

    def _root(self, request: web.BaseRequest, info: RequestInfo, root: str) -> web.StreamResponse:
        accept = request.headers.get(hdrs.ACCEPT) or ""
        version = _aggregated_version(accept)
        if version:
            return self._aggregated_response(request, root, version)
        form = negotiation.requested_form(request, info.query, transforms=())
        if root == "api":
            document: Object = {
                "kind": "APIVersions",
                "versions": ["v1"],
                "serverAddressByClientCIDRs": [
                    {"clientCIDR": "0.0.0.0/0", "serverAddress": request.host}
                ],
            }
            return responses.render(document, form)
        groups = [self._group(name) for name in self._groups if name]
        return responses.render(
            {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}, form
        )

    def _aggregated_response(
        self, request: web.BaseRequest, root: str, version: str
    ) -> web.StreamResponse:
        key = f"{root}/{version}"
        if key not in self._documents:
            body = orjson.dumps(self.aggregated_document(root, version))
            self._documents[key] = (body, hashlib.sha512(body).hexdigest().upper())
        body, digest = self._documents[key]
        etag = f'"{digest}"'
        headers = {
            "Content-Type": AGGREGATED.format(version=version),
            "ETag": etag,
            "Vary": "Accept",
            "Cache-Control": "public",
        }
        if request.headers.get("If-None-Match") == etag:
            return web.Response(status=304, headers=headers)
        return BodyResponse(body, CIMultiDict(headers))

    def _refresh(self, definitions: Sequence[Definition]) -> None:
        """Build documents again if the table of served kinds changed."""
        if self._revision != self._resources.revision:
            self._documents.clear()
            self._kinds = {}
            for definition in sorted(definitions, key=_group_position):
                self._kinds.setdefault(definition.group, []).append(definition)
            self._groups = self._served_groups()
            self._revision = self._resources.revision

    def _wording(self, group: str) -> wordings.Wording:
        kinds = self._kinds.get(group)
        return wordings.of(kinds[0]) if kinds else wordings.EXTENSIONS

    def _of_version(self, group: str, version: str) -> list[Definition]:
        """Return the kinds of a group that are served in a version, by plural."""
        kinds = [each for each in self._kinds.get(group, ()) if each.version(version) is not None]
        return sorted(kinds, key=lambda each: each.names.plural)

    def _served_groups(self) -> dict[str, list[str]]:
        """Return the served versions by group, preferred ones first. Groups of custom resources are
        last, sorted by name."""
        groups: dict[str, dict[str, None]] = {}
        sorts: set[str] = set()
        for group, kinds in self._kinds.items():
            versions = groups[group] = {}
            for definition in kinds:
                if wordings.of(definition).sorts_versions:
                    sorts.add(group)
                for version in definition.served():
                    versions[version.name] = None
        served = {
            group: sorted(versions, key=preference) if group in sorts else list(versions)
            for group, versions in groups.items()
            if versions
        }
        return self._with_delegates(served) if self._resources.delegates else served

    def _with_delegates(self, served: dict[str, list[str]]) -> dict[str, list[str]]:
        """Add the groups of aggregated servers to these groups, sorted by all priorities."""
        local = [
            _local(group, version, self._wording(group), at)
            for group, versions in served.items()
            for at, version in enumerate(versions)
        ]
        others = [one.registration for one in self._resources.delegates.values()]
        delegated = {(one.group, one.version) for one in others}
        own = [one for one in local if (one.group, one.version) not in delegated]
        ordered = registrations.by_group([*own, *others])
        return {versions[0].group: [one.version for one in versions] for versions in ordered}

    def _group(self, name: str) -> Object:
        versions = [
            {"groupVersion": f"{name}/{version}", "version": version}
            for version in self._groups[name]
        ]
        return {"name": name, "versions": versions, "preferredVersion": versions[0]}

    def resource_list(self, group: str, version: str) -> Object:
        """Return an APIResourceList."""
        listed = []
        for definition in self._of_version(group, version):
            listed += list(_api_resources(definition, version))
        # the list of the core group has no apiVersion
        head = {"kind": "APIResourceList"} | ({"apiVersion": "v1"} if group else {})
        name = f"{group}/{version}" if group else version
        return {**head, "groupVersion": name, "resources": listed}

    def aggregated_document(self, root: str, version: str) -> Object:
        """Return an APIGroupDiscoveryList for one root."""
        items = []
        for group, versions in self._groups.items():
            if (root == "api") != (group == ""):
                continue
            candidates = (self._version_discovery(group, name) for name in versions)
            documents = [one for one in candidates if one is not None]
            if not documents:
                continue
            name: Object = {"name": group} if group else {}
            items.append({"metadata": name | self._no_time, "versions": documents})
        return {
            "kind": "APIGroupDiscoveryList",
            "apiVersion": f"apidiscovery.k8s.io/{version}",
            "metadata": {},
            "items": items,
        }

    def _version_discovery(self, group: str, version: str) -> Object | None:
        """Return an APIVersionDiscovery, or None for a group version that is registered but not
        served."""
        delegate = self._resources.delegates.get((group, version))
        if delegate is not None and delegate.forwards:
            return delegate.version_discovery()
        kinds = self._of_version(group, version)
        if not kinds:
            return None
        resources = [_discovery(each, version) for each in kinds]
        return {"version": version, "resources": resources, "freshness": "Current"}


def _group_position(definition: Definition) -> tuple[int, str]:
    """Return the position of a group: built-in groups in their order, then kinds declared in
    Python, then CRDs."""
    wording = wordings.of(definition)
    return wording.group_order, definition.group if wording.sorts_groups else ""


def _local(group: str, version: str, wording: wordings.Wording, at: int) -> Registration:
    """Return the registration of a group version that this server serves; `at` is its position
    among the versions."""
    least = registrations.CUSTOM_PRIORITY + wordings.EXTENSIONS.group_order - wording.group_order
    priority = registrations.GROUP_PRIORITIES.get(group, least)
    if group == "apiregistration.k8s.io":
        priority = registrations.FIRST_PRIORITY
    at_version = registrations.CUSTOM_PRIORITY - at
    return Registration(f"{version}.{group}", group, version, priority, at_version)


def _aggregated_version(accept: str) -> str:
    """Return the version of aggregated discovery that an Accept header prefers, or "" for the plain
    form."""
    for clause in negotiation.clauses(accept):
        if clause.media in ("*/*", negotiation.JSON, negotiation.YAML):
            if clause.parameter("as") != "APIGroupDiscoveryList":
                return ""
            if clause.parameter("g") == "apidiscovery.k8s.io":
                version = clause.parameter("v")
                if version == "v2":
                    return version
    return ""


def _api_resources(definition: Definition, version: str) -> Any:
    names = definition.names
    item: Object = {
        "name": names.plural,
        "singularName": names.singular or names.kind.lower(),
        "namespaced": definition.namespaced,
        "kind": names.kind,
        "verbs": list(definition.verbs),
    }
    if names.short_names:
        item["shortNames"] = list(names.short_names)
    if names.categories:
        item["categories"] = list(names.categories)
    if "list" in definition.verbs and names.plural != "componentstatuses":
        item["storageVersionHash"] = storage_hash(definition)
    yield item
    yield from subresources(definition, version)


def storage_hash(definition: Definition) -> str:
    """Return a hash of group, storage version and kind (discovery.StorageVersionHash)."""
    stored = definition.storage_version.name
    text = f"{definition.group}/{stored}/{definition.names.kind}"
    return base64.b64encode(hashlib.sha256(text.encode()).digest()[:8]).decode()


def subresources(definition: Definition, version: str) -> list[Object]:
    """Return the subresources in the form of an APIResourceList."""
    served = definition.version(version)
    assert served is not None, "asked for served versions only"
    return [
        {
            "name": f"{definition.names.plural}/{each.name}",
            "singularName": "",
            "namespaced": definition.namespaced,
            **({"group": each.group, "version": each.version} if each.version else {}),
            "kind": each.kind or definition.names.kind,
            "verbs": list(each.verbs),
        }
        for each in served.subresources
    ]


def _discovery(definition: Definition, version: str) -> Object:
    """Return an APIResourceDiscovery. Built-in kinds omit group and version, which then are those
    of the list."""
    names = definition.names
    repeats = wordings.of(definition).discovery_repeats_group
    group, kind_version = (definition.group, version) if repeats else ("", "")
    item: Object = {
        "resource": names.plural,
        "responseKind": _kind(group, kind_version, names.kind),
        "scope": "Namespaced" if definition.namespaced else "Cluster",
        "singularResource": names.singular or names.kind.lower(),
        "verbs": list(definition.verbs),
    }
    if names.short_names:
        item["shortNames"] = list(names.short_names)
    if names.categories:
        item["categories"] = list(names.categories)
    subs = [
        {
            "subresource": sub["name"].partition("/")[2],
            "responseKind": _kind(
                sub.get("group", group), sub.get("version", kind_version), sub["kind"]
            ),
            "verbs": sub["verbs"],
        }
        for sub in subresources(definition, version)
    ]
    if subs:
        item["subresources"] = subs
    return item


def _kind(group: str, version: str, kind: str) -> Object:
    return {"group": group, "version": version, "kind": kind}
