"""Captures a cluster: lists the selected objects, then records their changes until the end."""

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from inkube import storage
from inkube.apiserver.capture import chosen, versions
from inkube.apiserver.capture.chosen import Kind
from inkube.apiserver.capture.cluster import (
    Address,
    Cluster,
    ClusterError,
    Expired,
    ListPage,
    Refused,
)
from inkube.apiserver.capture.recorder import Recorder
from inkube.apiserver.registry import JSONCodec
from inkube.schemas.objects import Object
from inkube.storage import Store, StoreOptions, wholefiles

logger = logging.getLogger(__name__)
SHORTEST, LONGEST = 0.5, 30.0
"""The shortest and the longest delay before a broken watch is opened again, in seconds."""
WATCHES = 2_000
"""The most kinds and namespaces that are watched at the same time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CaptureScope:
    """The part of a cluster to capture; empty members do not restrict it."""

    resources: Sequence[str] = ()
    namespaces: Sequence[str] = ()
    secrets: bool = False
    webhooks: bool = False
    """Whether configurations of webhooks are captured, which nobody answers in a copy."""


@dataclass(frozen=True, slots=True)
class WatchedKind:
    """A captured list, and the resourceVersion from which its watch continues."""

    kind: Kind
    version: str


Report = Callable[[str], None]


async def capture(
    cluster: Cluster,
    file: Path,
    scope: CaptureScope,
    *,
    report: Report,
    until: asyncio.Event | None = None,
) -> None:
    """Write the state of a cluster to a new file, which appears when it is complete. With `until`,
    then also write later changes until it is set. At the end, `versions` contains the resource
    versions of the state.

    `report` is called with a line for each rejected kind. Raises ClusterError, LogError,
    FileExistsError and other OSErrors.
    """
    with wholefiles.new_database(file) as draft:
        async with _store(draft) as store:
            recorder = Recorder(store)
            following = await _capture_lists(cluster, recorder, scope, report)
            await recorder.mark("cluster")
            objects, revision = store.count("/registry/"), store.revision
        if until is None:
            versions.write(draft, recorder.versions, revision)
    report(f"{objects} objects of {len(following)} lists are in {file}")
    if until is not None:
        async with _store(file) as store:
            recorder = Recorder(store, recorder.versions)
            await _capture_changes(cluster, recorder, following, until)
            revision = store.revision
        versions.write(file, recorder.versions, revision)


def _store(file: Path) -> Store:
    return Store(storage.sqlite_log(file), JSONCodec(), StoreOptions(compaction=None))


async def _capture_lists(
    cluster: Cluster, recorder: Recorder, scope: CaptureScope, report: Report
) -> list[WatchedKind]:
    """Store the selected lists, and return them."""
    names = [*scope.resources, *(["secrets"] if scope.secrets and scope.resources else [])]
    kinds = list(chosen.of_kubernetes(names))
    if scope.secrets and not names:
        kinds += chosen.of_kubernetes(["secrets"])
    if scope.webhooks:
        kinds += chosen.of_kubernetes(chosen.WEBHOOKS)
    kinds = list(dict.fromkeys(kinds))
    kinds.sort(key=lambda kind: (kind.address.group, kind.address.plural) not in chosen.FIRST)
    following: list[WatchedKind] = []
    known = list(kinds)
    while kinds:
        kind = kinds.pop(0)
        found = await _list(cluster, kind, scope, report)
        items = [item for listed in found.values() for item in listed.items]
        if kind.address.plural == chosen.FIRST[0][1]:
            _check_namespaces(scope, items)
        if kind.address.plural == chosen.FIRST[1][1]:
            kinds += (more := list(chosen.of_definitions(items, scope.resources)))
            if unknown := chosen.unknown(scope.resources, known + more):
                raise ClusterError(f"the cluster has no kind {' or '.join(unknown)}")
        for address, listed in found.items():
            for item in listed.items:
                await recorder.put(kind, item)
            listed_kind = kind._replace(address=address)
            recorder.cover(listed_kind)
            following.append(WatchedKind(listed_kind, listed.version))
    if len(following) > WATCHES:
        raise ClusterError(f"{len(following)} lists are too many to follow; name kinds (-r)")
    return following


def _check_namespaces(scope: CaptureScope, namespaces: Sequence[Object]) -> None:
    """Raise ClusterError if a selected namespace does not exist."""
    there = {each["metadata"]["name"] for each in namespaces}
    if missing := [each for each in scope.namespaces if each not in there]:
        raise ClusterError(f"the cluster has no namespace {' or '.join(missing)}")


async def _list(
    cluster: Cluster, kind: Kind, scope: CaptureScope, report: Report
) -> dict[Address, ListPage]:
    """Return the lists of a kind, one for each selected namespace. A refused list is reported and
    omitted. Raises ClusterError if the cluster cannot be reached: what is left out would look as if
    it were not there."""
    first = (kind.address.group, kind.address.plural) in chosen.FIRST
    namespaces = scope.namespaces if scope.namespaces and not first else [""]
    found: dict[Address, ListPage] = {}
    for namespace in namespaces:
        address = kind.address._replace(namespace=namespace)
        try:
            listed = await cluster.list(address)
        except Refused as error:
            if first:
                raise
            report(f"left out: {error}")
            continue
        if listed is not None:  # the kind is served, and is namespaced if a namespace is selected
            found[address] = listed
    return found


async def _capture_changes(
    cluster: Cluster, recorder: Recorder, watches: Sequence[WatchedKind], until: asyncio.Event
) -> None:
    tasks = [asyncio.create_task(_watch(cluster, recorder, each)) for each in watches]
    stop = asyncio.create_task(until.wait())
    try:
        done, _ = await asyncio.wait([stop, *tasks], return_when=asyncio.FIRST_COMPLETED)
        for task in done - {stop}:
            task.result()
    finally:
        for task in (stop, *tasks):
            task.cancel()
        await asyncio.gather(stop, *tasks, return_exceptions=True)


async def _list_again(cluster: Cluster, recorder: Recorder, kind: Kind) -> str:
    """Record what has changed while no watch was open. Returns the version of the list. Raises
    ClusterError, LogError."""
    listed = await cluster.list(kind.address)
    if listed is None:
        raise ClusterError(f"{kind.address}: not served any more")
    await recorder.replace(kind, listed.items, kind.address.namespace)
    return listed.version


async def _watch(cluster: Cluster, recorder: Recorder, watched: WatchedKind) -> None:
    """Record the events of one list without end. Raises LogError."""
    kind, version = watched.kind, watched.version
    delay = SHORTEST
    while True:
        try:
            if not version:
                version = await _list_again(cluster, recorder, kind)
            async for event in cluster.watch(kind.address, version):
                delay = SHORTEST
                obj = event["object"]
                version = obj["metadata"]["resourceVersion"]
                if event["type"] in ("ADDED", "MODIFIED"):
                    await recorder.put(kind, obj)
                elif event["type"] == "DELETED":
                    await recorder.remove(kind, obj)
        except Expired:
            version = ""
            await asyncio.sleep(delay)
        except ClusterError as error:
            logger.warning("watching again in %g s: %s", delay, error)
            await asyncio.sleep(delay)
            delay = min(2 * delay, LONGEST)
