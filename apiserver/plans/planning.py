"""Applies a set of objects to a fork of a cluster's data, and notes what happens to each.

Namespaces and definitions come first, then all other objects in their order: an object can need a
namespace or a kind of the same set. Each object is one server-side apply, as kubectl sends it.
"""

import contextlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import aiohttp

from inkube.apiserver import manifests, server, sources
from inkube.apiserver.client import InProcessClient
from inkube.apiserver.manifests import Manifest
from inkube.apiserver.plans import fields, outcomes, webhooks
from inkube.apiserver.plans.outcomes import FAILURES, Action, Outcome
from inkube.apiserver.registry import keys
from inkube.schemas.meta import GVR
from inkube.schemas.objects import Object
from inkube.schemas.status import StatusError
from inkube.schemas.webhooks import Hook

_LEFT_OUT = (*webhooks.PREFIXES, keys.prefix("apiservices"))
"""Prefixes of objects that would call other servers."""
_SECONDS = 60.0
_CRD = "CustomResourceDefinition"
_PRUNED = (
    ("", "configmaps"), ("", "persistentvolumeclaims"), ("", "pods"), ("", "secrets"),
    ("", "serviceaccounts"), ("", "services"), ("apps", "daemonsets"), ("apps", "deployments"),
    ("apps", "statefulsets"), ("batch", "cronjobs"), ("batch", "jobs"),
    ("networking.k8s.io", "ingresses"),
)  # fmt: skip
"""Kinds that `--prune` deletes in addition to those of the set (kubectl, pkg/util/prune)."""
_PAGE = 500


class PlanError(Exception):
    """A plan that cannot be made."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanOptions:
    """How objects are applied.

    With a `user`, RBAC of the data decides what this user may do. `prune` is a label selector:
    objects with these labels that are not in the set are deleted.
    """

    field_manager: str = "kubectl"
    namespace: str = "default"
    force: bool = False
    user: str = ""
    groups: Sequence[str] = ()
    prune: str = ""
    kubernetes_version: str = ""


class Plan(NamedTuple):
    """The outcomes of a set of objects, in the order in which they are applied."""

    outcomes: list[Outcome]
    revision: int
    """The revision of the data."""

    def count(self, action: Action) -> int:
        """Return the number of objects with an action."""
        return sum(each.action is action for each in self.outcomes)

    @property
    def exit_code(self) -> int:
        """0 if nothing would change, 1 if an object cannot be applied, else 2."""
        if any(each.action in FAILURES for each in self.outcomes):
            return 1
        return 2 if any(each.action is not Action.UNCHANGED for each in self.outcomes) else 0


class Answer(NamedTuple):
    """The response to a request: code, body, warnings."""

    code: int
    body: Object
    warnings: list[str]


class Api:
    """A server, as a user with an HTTP client sees it."""

    def __init__(self, running: "server.APIServer", session: aiohttp.ClientSession) -> None:
        self.client: InProcessClient = running.client
        self.settled: Callable[[], Awaitable[None]] = running.settled
        self._url = running.url
        self._session = session

    async def ask(
        self, method: str, path: str, body: Any = None, query: Mapping[str, str] | None = None
    ) -> Answer:
        """Send a request. Raises PlanError if the server does not answer."""
        kind = "application/apply-patch+yaml" if method == "PATCH" else "application/json"
        data = None if body is None else json.dumps(body)
        headers = {"Content-Type": kind}
        try:
            async with self._session.request(
                method, self._url + path, data=data, params=query, headers=headers
            ) as answer:
                found = [_warning(each) for each in answer.headers.getall("Warning", ())]
                return Answer(answer.status, await answer.json(content_type=None), found)
        except (aiohttp.ClientError, TimeoutError, ValueError) as error:
            raise PlanError(f"{method} {path}: {error or type(error).__name__}") from error


async def plan(
    snapshot: "sources.Snapshot", found: Iterable[Manifest], options: PlanOptions
) -> Plan:
    """Apply manifests to a fork of a snapshot. Raises PlanError, StorageError, ValueError."""
    hooks = webhooks.stored(snapshot.log.records)
    async with forked(snapshot, options) as api:
        planned = await apply_all(api, ordered(found), options, hooks)
        return Plan(planned, snapshot.revision)


@contextlib.asynccontextmanager
async def forked(snapshot: "sources.Snapshot", options: PlanOptions) -> AsyncIterator[Api]:
    """Serve a copy of a snapshot in memory, without controllers and webhooks. Raises StorageError,
    ValueError."""
    rows = [row for row in snapshot.log.records if not row.key.startswith(_LEFT_OUT)]
    copy = replace(snapshot, log=snapshot.log._replace(records=rows, compacted=snapshot.revision))
    version = (
        {"kubernetes_version": options.kubernetes_version} if options.kubernetes_version else {}
    )
    values: dict[str, Any] = {
        "snapshot": copy,
        "controllers": False,
        "modules": "none",
        "authorization_mode": "RBAC" if options.user else "AlwaysAllow",
        **version,
    }
    async with server.APIServer(**values) as running:
        headers = [("User-Agent", "inkube-plan")]
        if running.security.token:
            headers.append(("Authorization", f"Bearer {running.security.token}"))
        if options.user:
            headers.append(("Impersonate-User", options.user))
            headers += [("Impersonate-Group", each) for each in options.groups]
        async with aiohttp.ClientSession(
            headers=headers, timeout=aiohttp.ClientTimeout(_SECONDS)
        ) as session:
            yield Api(running, session)


def ordered(found: Iterable[Manifest]) -> list[Manifest]:
    """Return manifests in the order in which they are applied: namespaces, definitions, others."""
    first = {"Namespace": 0, _CRD: 1}
    return sorted(found, key=lambda each: first.get(each.object["kind"], 2))


async def apply_all(
    api: Api, found: Sequence[Manifest], options: PlanOptions, hooks: Sequence[Hook] = ()
) -> list[Outcome]:
    """Apply manifests in their order. Raises PlanError."""
    planned, resources = [], set[GVR]()
    for index, manifest in enumerate(found):
        is_crd = manifest.object["kind"] == _CRD
        planned.append(await _apply(api, manifest, options, hooks, resources))
        if is_crd and (index + 1 == len(found) or found[index + 1].object["kind"] != _CRD):
            await api.settled()  # the new kinds are served
    if options.prune:
        planned += await _prune(api, planned, resources, options)
    return planned


async def _apply(
    api: Api, manifest: Manifest, options: PlanOptions, hooks: Sequence[Hook], resources: set[GVR]
) -> Outcome:
    obj = manifests.with_namespace(api.client, manifest.object, options.namespace)
    metadata = obj.get("metadata") or {}
    head = (
        manifest.source, obj.get("apiVersion", ""), obj["kind"],
        metadata.get("namespace") or "", metadata.get("name") or "",
    )  # fmt: skip
    try:
        resource = api.client.resource_of(obj)
    except StatusError as error:
        return Outcome(*head, Action.REFUSED, code=error.code, message=error.message)
    if not head[-1]:
        return Outcome(*head, Action.REFUSED, code=400, message="metadata.name is missing")
    resources.add(resource)
    path = resource.path(head[3], head[4])
    before = await api.ask("GET", path)
    old = before.body if before.code == 200 else None
    query = {"fieldManager": options.field_manager, "fieldValidation": "Strict"}
    query |= {"force": "true"} if options.force else {}
    answer = await api.ask("PATCH", path, obj, query)
    action = outcomes.action_of(answer.code, answer.body, old)
    is_done = action not in FAILURES
    return Outcome(
        *head,
        action,
        resource_version="" if old is None else old["metadata"]["resourceVersion"],
        changes=fields.changes(old, answer.body, obj)
        if is_done and action is not Action.UNCHANGED
        else [],
        code=answer.code,
        message="" if is_done else str(answer.body.get("message", "")),
        owners=outcomes.owners(answer.body) if not is_done else [],
        warnings=answer.warnings,
        webhooks=await _called(api, hooks, resource, answer.body, old) if is_done else [],
    )


async def _called(
    api: Api, hooks: Sequence[Hook], resource: GVR, obj: Object, old: Object | None
) -> list[str]:
    if not hooks:
        return []
    namespace = obj["metadata"].get("namespace", "")
    labels = await api.ask("GET", f"/api/v1/namespaces/{namespace}") if namespace else None
    write = webhooks.Write(
        "CREATE" if old is None else "UPDATE",
        resource,
        obj,
        labels.body if labels is not None and labels.code == 200 else None,
    )
    return webhooks.called(hooks, write)


async def _prune(
    api: Api, planned: Sequence[Outcome], resources: set[GVR], options: PlanOptions
) -> list[Outcome]:
    kept = {(each.kind, each.namespace, each.name) for each in planned}
    spaces = sorted({each.namespace for each in planned if each.namespace})
    names = {(each.group, each.resource): each for each in sorted(resources)}
    for group, plural in _PRUNED:
        names.setdefault((group, plural), GVR(group, "v1", plural))
    found = []
    for resource in names.values():
        for namespace in spaces:
            query = {"labelSelector": options.prune, "limit": str(_PAGE)}
            answer = await api.ask("GET", resource.path(namespace), query=query)
            for item in answer.body.get("items") or () if answer.code == 200 else ():
                own = item["metadata"]
                kind = answer.body["kind"].removesuffix("List")
                if (
                    own.get("namespace", "") == namespace
                    and (kind, namespace, own["name"]) not in kept
                ):
                    found.append(await _delete(api, resource, kind, item))
    return found


async def _delete(api: Api, resource: GVR, kind: str, item: Object) -> Outcome:
    own = item["metadata"]
    namespace = own.get("namespace", "")
    answer = await api.ask("DELETE", resource.path(namespace, own["name"]))
    is_done = answer.code in (200, 202)
    return Outcome(
        "--prune", resource.api_version, kind, namespace, own["name"],
        Action.DELETE if is_done else Action.REFUSED,
        resource_version=own["resourceVersion"],
        code=answer.code,
        message="" if is_done else str(answer.body.get("message", "")),
    )  # fmt: skip


def _warning(header: str) -> str:
    """Return the text of a Warning header: `299 - "text"`."""
    _, _, text = header.partition('"')
    return text.rpartition('"')[0].replace('\\"', '"').replace("\\\\", "\\")
