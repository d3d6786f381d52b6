"""Writes every stored object to two forks of the data, one for each minor, as dry runs."""

import asyncio
from collections.abc import Iterator, Sequence
from typing import Any

import orjson

from inkube.apiserver import plans, sources
from inkube.apiserver.plans import Answer, Api, PlanOptions, fields
from inkube.apiserver.registry import keys
from inkube.apiserver.upgrades import references
from inkube.apiserver.upgrades.references import Minors
from inkube.apiserver.upgrades.statements import ERRORS, Code, Report, Statement
from inkube.schemas import releases
from inkube.schemas.objects import Object
from inkube.schemas.status import StatusError
from inkube.storage import Record

_DRY = {"dryRun": "All", "fieldManager": "inkube-upgrade"}
_SET_BY_SERVER = (
    "uid", "resourceVersion", "creationTimestamp", "generation", "managedFields", "selfLink",
    "deletionTimestamp", "deletionGracePeriodSeconds",
)  # fmt: skip
_ASSIGNED = {"Service": ("clusterIP", "clusterIPs", "healthCheckNodePort"), "Pod": ("nodeName",)}
"""Members of specs that a server has assigned, and would assign again."""
_NAMED = frozenset({"CustomResourceDefinition", "APIService", "Namespace", "Node", "IPAddress"})
"""Kinds whose names have a meaning, so that a second object cannot be created."""
_OK = frozenset({200, 201})
_TOUCHED = "inkube.dev/rehearsed"


async def rehearse(snapshot: "sources.Snapshot", source: str, target: str) -> Report:
    """Rehearse an upgrade from one minor (`1.31`) to another. Raises PlanError, StorageError,
    ValueError."""
    minors = Minors(*(releases.parse(each).minor for each in (source, target)))
    statements: list[Statement] = []
    count = 0
    async with (
        plans.forked(snapshot, PlanOptions(kubernetes_version=source)) as old,
        plans.forked(snapshot, PlanOptions(kubernetes_version=target)) as new,
    ):
        for obj in _objects(snapshot.log.records):
            count += 1
            title = _title(obj)
            statements += references.statements(title, obj, minors)
            statements += await _replayed(title, obj, old, new)
    return Report(source, target, count, statements)


def _objects(records: Sequence[Record]) -> Iterator[Object]:
    newest = {row.key: row for row in records if row.key.startswith(keys.ROOT)}
    for row in newest.values():
        if not row.deleted and row.key != keys.LEADER:
            yield orjson.loads(row.data)


async def _replayed(title: str, obj: Object, old: Api, new: Api) -> list[Statement]:
    try:
        old.client.resource_of(obj)
    except StatusError:
        return []  # the cluster does not serve it now
    try:
        new.client.resource_of(obj)
    except StatusError as error:
        return [Statement(Code.NOT_SERVED, title, error.message)]
    updates = await asyncio.gather(*(_update(api, obj) for api in (old, new)))
    found = [*_compared(Code.REFUSED_UPDATE, title, *updates)]
    if obj["kind"] not in _NAMED:
        creates = await asyncio.gather(*(_create(api, obj) for api in (old, new)))
        if not _fails(found):
            found += _compared(Code.REFUSED_CREATE, title, *creates)
        found += _defaults(title, obj["kind"], *creates)
        found += await _last_applied(title, obj, old, new) if not _fails(found) else ()
    return found


def _fails(statements: Sequence[Statement]) -> bool:
    return any(each.code in ERRORS for each in statements)


async def _last_applied(title: str, obj: Object, old: Api, new: Api) -> list[Statement]:
    """Create an object as kubectl has applied it last. It can have fields that the minor of the
    cluster drops, and that the later one judges."""
    applied = references.last_applied(obj["metadata"])
    if applied.get("kind") != obj["kind"] or not isinstance(applied.get("metadata"), dict):
        return []
    namespace = obj["metadata"].get("namespace")
    metadata = {**applied["metadata"], "name": obj["metadata"]["name"]}
    body = {**applied, "metadata": metadata | ({"namespace": namespace} if namespace else {})}
    try:
        creates = await asyncio.gather(*(_create(api, body) for api in (old, new)))
    except StatusError:
        return []  # applied as a version that is not served; `references` says so
    return list(_compared(Code.REFUSED_CREATE, title, *creates))


def _compared(code: Code, title: str, old: Answer, new: Answer) -> Iterator[Statement]:
    if old.code in _OK and new.code not in _OK:
        message = str(new.body.get("message", ""))
        causes = (new.body.get("details") or {}).get("causes") or ()
        texts = [f"{each.get('field', '')}: {each.get('message', '')}" for each in causes]
        for text in texts or [message]:
            yield Statement(code, title, text)
    for warning in new.warnings:
        if warning not in old.warnings:
            yield Statement(Code.WARNING, title, warning)


def _defaults(title: str, kind: str, old: Answer, new: Answer) -> Iterator[Statement]:
    if old.code in _OK and new.code in _OK:
        for change in fields.changes(old.body, new.body):
            if not _is_noise(change):
                was, now = (_shown(each) for each in (change.old, change.new))
                yield Statement(Code.DEFAULT, title, f"{kind} {change.path}: {was} -> {now}")


def _shown(value: Any) -> str:
    return "unset" if value is fields.MISSING else orjson.dumps(value).decode()


def _is_noise(change: fields.FieldChange) -> bool:
    """Return whether a difference says nothing about defaults: metadata, identities, addresses, and
    a time that is null."""
    ends = ("creationTimestamp", "controller-uid", "controller-uid]")
    return change.path.startswith(("metadata", "spec.clusterIP")) or change.path.endswith(ends)


async def _update(api: Api, obj: Object) -> Answer:
    metadata = obj["metadata"]
    annotations = {**(metadata.get("annotations") or {}), _TOUCHED: "true"}
    body = {**obj, "metadata": {**metadata, "annotations": annotations}}
    resource = api.client.resource_of(obj)
    path = resource.path(metadata.get("namespace", ""), metadata["name"])
    return await api.ask("PUT", path, body, _DRY)


async def _create(api: Api, obj: Object) -> Answer:
    metadata = {k: v for k, v in obj["metadata"].items() if k not in _SET_BY_SERVER}
    metadata["name"] = f"{metadata['name'][:200]}-rehearsed"
    body = {**obj, "metadata": metadata}
    if isinstance(spec := obj.get("spec"), dict):
        left = _ASSIGNED.get(obj["kind"], ())
        body["spec"] = {name: value for name, value in spec.items() if name not in left}
    body.pop("status", None)
    resource = api.client.resource_of(obj)
    return await api.ask("POST", resource.path(metadata.get("namespace", "")), body, _DRY)


def _title(obj: Object) -> str:
    metadata = obj["metadata"]
    place = f"{metadata['namespace']}/" if metadata.get("namespace") else ""
    return f"{obj['kind']} {place}{metadata['name']}"
