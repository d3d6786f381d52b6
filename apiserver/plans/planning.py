"""Applies a set of objects to a fork of a cluster's data, and notes what happens to each.

Namespaces and definitions come first, then all other objects in their order: an object can need a
namespace or a kind of the same set. Each object is one server-side apply, as kubectl sends it.
"""

import contextlib
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import aiohttp

import inkube
from inkube.apiserver import manifests, server, sources
from inkube.apiserver.client import InProcessClient
from inkube.apiserver.manifests import Manifest
from inkube.apiserver.plans import clientside, fields, outcomes, webhooks
from inkube.apiserver.plans.fields import FieldChange
from inkube.apiserver.plans.outcomes import FAILURES, Action, Effect, Outcome, Write
from inkube.apiserver.plans.readings import Known, Reading, Readings
from inkube.apiserver.plans.requests import APPLY, Answer, PlanError, Requests
from inkube.apiserver.registry import keys
from inkube.schemas import releases
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
_ASSIGNED = re.compile(r"^spec\.clusterIP|[nN]odePort$|controller-uid")
"""Fields that a server fills with another value for each write."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanOptions:
    """How objects are applied.

    With a `user`, RBAC of the data decides what this user may do. `prune` is a label selector:
    objects with these labels that are not in the set are deleted.
    """

    field_manager: str = ""
    """"" is kubectl's own name."""
    client_side: bool = False
    """Whether objects are applied with client-side apply."""
    namespace: str = "default"
    force: bool = False
    user: str = ""
    groups: Sequence[str] = ()
    prune: str = ""
    kubernetes_version: str = ""

    call_webhooks: bool = False
    """Whether webhooks that permit dry runs are called."""
    service_addresses: Sequence[str] = ()
    """`NAMESPACE/NAME=HOST:PORT`: where the webhooks of a Service can be reached."""

    @property
    def manager(self) -> str:
        """The field manager, with kubectl's defaults."""
        return self.field_manager or (clientside.MANAGER if self.client_side else "kubectl")


class Plan(NamedTuple):
    """The outcomes of a set of objects, in the order in which they are applied."""

    outcomes: list[Outcome]
    revision: int
    """The revision of the data."""
    user: str = ""
    groups: Sequence[str] = ()
    identity: str = ""
    """The uid of the cluster, "" if it is unknown."""
    readings: list[Reading] | None = None
    """What the plan has read besides its objects; None if resource versions are not known."""
    effects: list[Effect] | None = None
    """What controllers would do; None if they were not simulated."""

    def count(self, action: Action) -> int:
        """Return the number of objects with an action."""
        return sum(each.action is action for each in self.outcomes)

    @property
    def exit_code(self) -> int:
        """0 if nothing would change, 1 if an object cannot be applied, else 2."""
        if any(each.action in FAILURES for each in self.outcomes):
            return 1
        return 2 if any(each.action is not Action.UNCHANGED for each in self.outcomes) else 0


class Api(Requests):
    """A fork, as a user with an HTTP client sees it."""

    def __init__(
        self,
        running: "server.APIServer",
        session: aiohttp.ClientSession,
        *,
        user: str,
        groups: Iterable[str],
    ) -> None:
        super().__init__(session, running.url, user=user, groups=groups)
        self.client: InProcessClient = running.client
        self.settled: Callable[[], Awaitable[None]] = running.settled


async def plan(
    snapshot: "sources.Snapshot",
    applied: Iterable[Manifest],
    options: PlanOptions,
    known: Known | None = None,
) -> Plan:
    """Apply manifests to a fork of a snapshot. `known` are the resource versions of a captured
    cluster. Raises PlanError, StorageError, ValueError."""
    hooks = webhooks.stored(snapshot.log.records)
    before = Readings(snapshot.log.records, known)
    async with forked(snapshot, options) as api:
        planned = await apply_all(api, ordered(applied), options, hooks)
    if known is not None:
        planned = [_with_version(each, known.versions) for each in planned]
    written = [each for each in planned if each.write is not None]
    readings = before.of((each.namespace for each in written), (each.resource for each in written))
    return Plan(
        planned, snapshot.revision, options.user, options.groups, before.identity,
        readings if before.has_versions else None,
    )  # fmt: skip


def _with_version(outcome: Outcome, versions: Mapping[str, str]) -> Outcome:
    return replace(outcome, resource_version=versions.get(outcome.uid, ""))


@contextlib.asynccontextmanager
async def forked(
    snapshot: "sources.Snapshot", options: PlanOptions, *, workloads: bool = False
) -> AsyncIterator[Api]:
    """Serve a copy of a snapshot in memory, without webhooks, and without controllers unless
    `workloads` simulates them on the nodes of the snapshot. Raises StorageError, ValueError."""
    rows = [row for row in snapshot.log.records if not row.key.startswith(_LEFT_OUT)]
    if options.call_webhooks:
        hooks = (row for row in snapshot.log.records if row.key.startswith(webhooks.PREFIXES))
        rows += map(webhooks.callable_only, hooks)
        rows.sort(key=lambda row: row.revision)
    copy = replace(snapshot, log=snapshot.log._replace(records=rows, compacted=snapshot.revision))
    version = (
        {"kubernetes_version": options.kubernetes_version} if options.kubernetes_version else {}
    )
    values: dict[str, Any] = {
        "snapshot": copy,
        "controllers": workloads,
        "modules": "none",
        "service_addresses": options.service_addresses,
        "authorization_mode": "RBAC" if options.user else "AlwaysAllow",
        **version,
    }
    if workloads:
        values["workloads"] = inkube.Workloads(nodes=0, manage_all_nodes=True, metrics=False)
    async with server.APIServer(**values) as running:
        headers = [("User-Agent", "inkube-plan")]
        if running.security.token:
            headers.append(("Authorization", f"Bearer {running.security.token}"))
        async with aiohttp.ClientSession(
            headers=headers, timeout=aiohttp.ClientTimeout(_SECONDS)
        ) as session:
            yield Api(running, session, user=options.user, groups=options.groups)


def ordered(unordered: Iterable[Manifest]) -> list[Manifest]:
    """Return manifests in the order in which they are applied: namespaces, definitions, others.
    Raises PlanError for one that no server can read."""
    first = {"Namespace": 0, _CRD: 1}
    unordered = list(unordered)
    for each in unordered:
        version, metadata = each.object.get("apiVersion", ""), each.object.get("metadata") or {}
        if not isinstance(version, str) or not isinstance(metadata, dict):
            raise PlanError(f"{each.source}: apiVersion must be a text, and metadata an object")
    return sorted(unordered, key=lambda each: first.get(each.object["kind"], 2))


async def apply_all(
    api: Api,
    ordered_manifests: Sequence[Manifest],
    options: PlanOptions,
    hooks: Sequence[Hook] = (),
) -> list[Outcome]:
    """Apply manifests in their order. Raises PlanError."""
    planned, resources = [], set[GVR]()
    for index, manifest in enumerate(ordered_manifests):
        is_crd = manifest.object["kind"] == _CRD
        planned.append(await _apply(api, manifest, options, hooks, resources))
        if is_crd and (
            index + 1 == len(ordered_manifests)
            or ordered_manifests[index + 1].object["kind"] != _CRD
        ):
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
    before = await api.send("GET", path)
    old = before.body if before.code == 200 else None
    write = _write(resource, obj, old, options)
    if write.method == "POST":
        path = resource.path(head[3])
    asked = None
    if options.call_webhooks and not write.is_empty:
        asked = await _send(api, write, path, {"dryRun": "All"})
    if asked is not None and asked.code >= 400:
        answer = asked
    else:
        answer = before if write.is_empty else await _send(api, write, path)
    judged = answer if asked is None else asked
    action = outcomes.action_of(judged.code, judged.body, old)
    is_done = action not in FAILURES
    named = await _called(api, hooks, resource, answer.body, old) if is_done else []
    return Outcome(
        *head,
        action,
        resource_version="" if old is None else old["metadata"]["resourceVersion"],
        changes=fields.changes(old, answer.body, obj)
        if is_done and action is not Action.UNCHANGED
        else [],
        code=judged.code,
        message="" if is_done else str(judged.body.get("message", "")),
        owners=outcomes.owners(judged.body) if not is_done else [],
        warnings=judged.warnings,
        webhooks=[each.name for each in named if asked is None or not each.dry_runs],
        called_webhooks=[each.name for each in named if asked is not None and each.dry_runs],
        mutations=_mutations(answer, judged) if is_done else [],
        uid="" if old is None else old["metadata"]["uid"],
        write=write,
    )


def _mutations(answer: Answer, judged: Answer) -> list[FieldChange]:
    """Return what webhooks have changed. Addresses and ports differ in any case."""
    differing = fields.changes(answer.body, judged.body) if judged is not answer else []
    return [each for each in differing if not _ASSIGNED.search(each.path)]


def _write(resource: GVR, obj: Object, old: Object | None, options: PlanOptions) -> Write:
    query = {"fieldManager": options.manager, "fieldValidation": "Strict"}
    if options.client_side:
        minor = releases.parse(options.kubernetes_version).minor
        return clientside.write(resource, obj, old, query, minor)
    query |= {"force": "true"} if options.force else {}
    return Write("PATCH", resource.resource, obj, query, APPLY)


async def _send(
    api: Api, write: Write, path: str, query: Mapping[str, str] | None = None
) -> Answer:
    asked = {**write.query, **(query or {})}
    return await api.send(write.method, path, write.body, asked, write.media)


async def _called(
    api: Api, hooks: Sequence[Hook], resource: GVR, obj: Object, old: Object | None
) -> list[Hook]:
    if not hooks:
        return []
    namespace = obj["metadata"].get("namespace", "")
    labels = await api.send("GET", f"/api/v1/namespaces/{namespace}") if namespace else None
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
            async for kind, item in _labelled(api, resource.path(namespace), options.prune):
                own = item["metadata"]
                if (
                    own.get("namespace", "") == namespace
                    and (kind, namespace, own["name"]) not in kept
                ):
                    found.append(await _delete(api, resource, kind, item))
    return found


async def _labelled(api: Api, path: str, labels: str) -> AsyncIterator[tuple[str, Object]]:
    """Yield the objects of a list that have labels, each with its kind."""
    query = {"labelSelector": labels, "limit": str(_PAGE)}
    while True:
        answer = await api.send("GET", path, query=query)
        if answer.code != 200:
            return  # not served, or not namespaced
        for item in answer.body.get("items") or ():
            yield answer.body["kind"].removesuffix("List"), item
        query["continue"] = answer.body["metadata"].get("continue", "")
        if not query["continue"]:
            return


async def _delete(api: Api, resource: GVR, kind: str, item: Object) -> Outcome:
    own = item["metadata"]
    namespace = own.get("namespace", "")
    answer = await api.send("DELETE", resource.path(namespace, own["name"]))
    is_done = answer.code in (200, 202)
    return Outcome(
        "--prune", resource.api_version, kind, namespace, own["name"],
        Action.DELETE if is_done else Action.REFUSED,
        resource_version=own["resourceVersion"],
        code=answer.code,
        message="" if is_done else str(answer.body.get("message", "")),
        uid=own["uid"],
        write=Write("DELETE", resource.resource, {}, {}),
    )  # fmt: skip
