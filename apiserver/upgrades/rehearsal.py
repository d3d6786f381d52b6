"""Writes every stored object to two forks of the data, one for each minor, as dry runs."""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from inkube.apiserver import plans, sources
from inkube.apiserver.plans import PlanOptions, fields
from inkube.apiserver.registry import keys
from inkube.apiserver.upgrades import auditlogs, minors, references
from inkube.apiserver.upgrades.auditlogs import Logged
from inkube.apiserver.upgrades.minors import Minors
from inkube.apiserver.upgrades.replays import NAMED, OK, Answers, Forks, compared
from inkube.apiserver.upgrades.statements import ERRORS, Code, Gate, Report, Statement
from inkube.schemas import builtin, releases
from inkube.schemas.lastapplied import last_applied
from inkube.schemas.objects import Object
from inkube.schemas.status import StatusError
from inkube.storage import Record


@dataclass(frozen=True, slots=True, kw_only=True)
class RehearsalOptions:
    """From which minor (`1.31`; "" for that of the data) to which one, which audit logs are read,
    and which feature gates the cluster sets; None for those that the data contains."""

    source: str = ""
    target: str
    audit_logs: Sequence[Path] = ()
    gates: Mapping[str, bool] | None = None


async def rehearse(snapshot: "sources.Snapshot", options: RehearsalOptions) -> Report:
    """Rehearse an upgrade. Raises PlanError, StorageError, OSError, ValueError."""
    origin = minors.origin(snapshot.log.records)
    source = minors.known(options.source, origin)
    pair = Minors(*(releases.parse(each).minor for each in (source, options.target)))
    if pair.new <= pair.old:
        raise ValueError(f"{options.target} is not later than {source}, the version of the cluster")
    own = origin.gates if options.gates is None else options.gates
    known = {name: state for name, state in own.items() if name in builtin.gates.known()}
    logged = Logged()
    await asyncio.to_thread(logged.read, options.audit_logs)
    with builtin.gates.overridden(known):
        count, statements = await _rehearsed(snapshot, options, source, pair, logged)
    return Report(
        source, options.target, count, statements,
        evidence="" if options.source else origin.evidence,
        requests=logged.requests,
        gates=list(_gates(pair, own)),
        notes=logged.notes,
    )  # fmt: skip


async def _rehearsed(
    snapshot: "sources.Snapshot",
    options: RehearsalOptions,
    source: str,
    pair: Minors,
    logged: Logged,
) -> tuple[int, list[Statement]]:
    """Return the number of objects, and all statements."""
    statements = list(auditlogs.removed(logged, pair))
    count = 0
    async with (
        plans.forked(snapshot, PlanOptions(kubernetes_version=source)) as old,
        plans.forked(snapshot, PlanOptions(kubernetes_version=options.target)) as new,
    ):
        forks = Forks(old, new)
        for obj in _objects(snapshot.log.records):
            count += 1
            title = _title(obj)
            statements += references.statements(title, obj, pair)
            statements += await _replayed(title, obj, forks, pair)
        statements += await auditlogs.replayed(logged, forks)
    return count, list(dict.fromkeys(statements))


def _gates(pair: Minors, own: Mapping[str, bool]) -> Iterator[Gate]:
    """Yield the gates that flip, and those that the cluster sets."""
    known = builtin.gates.known()
    for name in sorted({*known, *own}):
        old, new = (builtin.gates.default(name, minor) if name in known else None for minor in pair)
        if name in own or bool(old) != bool(new):
            yield Gate(name, old, new, own.get(name))


def _objects(records: Sequence[Record]) -> Iterator[Object]:
    newest = {row.key: row for row in records if row.key.startswith(keys.ROOT)}
    for row in newest.values():
        if not row.deleted and row.key != keys.LEADER:
            yield orjson.loads(row.data)


async def _replayed(title: str, obj: Object, forks: Forks, pair: Minors) -> list[Statement]:
    try:
        forks.old.client.resource_of(obj)
    except StatusError:
        return []  # the cluster does not serve it now
    try:
        forks.new.client.resource_of(obj)
    except StatusError as error:
        return [Statement(Code.NOT_SERVED, title, error.message)]
    found = [*compared(Code.REFUSED_UPDATE, title, await forks.update(obj))]
    if obj["kind"] not in NAMED:
        creates = await forks.create(obj)
        if not _fails(found):
            found += compared(Code.REFUSED_CREATE, title, creates)
        found += _defaults(title, obj["kind"], creates)
        found += await _last_applied(title, obj, forks, pair) if not _fails(found) else ()
    return found


def _fails(statements: Sequence[Statement]) -> bool:
    return any(each.code in ERRORS for each in statements)


async def _last_applied(title: str, obj: Object, forks: Forks, pair: Minors) -> list[Statement]:
    """Create an object as kubectl has applied it last, and apply it again. It can have fields that
    the minor of the cluster drops, and that the later one judges, or does not add later."""
    applied = last_applied(obj["metadata"])
    if applied.get("kind") != obj["kind"] or not isinstance(applied.get("metadata"), dict):
        return []
    namespace = obj["metadata"].get("namespace")
    metadata = {**applied["metadata"], "name": obj["metadata"]["name"]}
    body = {**applied, "metadata": metadata | ({"namespace": namespace} if namespace else {})}
    try:
        creates = await forks.create(body)
    except StatusError:
        return []  # applied as a version that is not served; `references` says so
    found = list(compared(Code.REFUSED_CREATE, title, creates))
    if body["apiVersion"] == obj["apiVersion"] and not _fails(found):
        answers = await forks.apply(body, obj, pair.new)
        found += compared(Code.REFUSED_APPLY, title, answers) if answers is not None else ()
    return found


def _defaults(title: str, kind: str, answers: Answers) -> Iterator[Statement]:
    old, new = answers
    if old.code in OK and new.code in OK:
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


def _title(obj: Object) -> str:
    metadata = obj["metadata"]
    place = f"{metadata['namespace']}/" if metadata.get("namespace") else ""
    return f"{obj['kind']} {place}{metadata['name']}"
