"""From the staged objects into the log of a data file.

An object keeps the resource version that it has in the cluster: it becomes the revision of its row.
The revision of a dump is none of the first ones, which a new log has compacted.
In a new file, the log is compacted up to the dump, because older states are not known. A second
dump appends what has changed since: new and changed objects, and the deletions of those that it
would contain. At the end, the entry `keys.CAPTURED` lists the dumps of the file.
"""

import hashlib
import uuid
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

import orjson

from inkube.apiserver.dumps.findings import DumpError, Findings, Unread
from inkube.apiserver.dumps.kinds import SECRET, Kinds
from inkube.apiserver.dumps.staging import KindName, Staging
from inkube.apiserver.registry import JSONCodec, keys
from inkube.schemas import meta
from inkube.schemas.objects import Object
from inkube.storage import Range, Record, SqlLog

ROWS, BYTES = 1_000, 8 * 2**20
"""The largest batch of one transaction."""
DUMPS = 10_000
"""The most dumps of a file."""


class Dump(NamedTuple):
    """A dump in a file: the tool that wrote it, its time, its revision, its name, and the version
    of the API server, "" if the dump does not contain it."""

    tool: str
    time: datetime
    revision: int
    name: str
    kubernetes: str = ""


@dataclass(slots=True)
class Counts:
    """What a dump has changed in a file."""

    added: int = 0
    changed: int = 0
    deleted: int = 0
    unchanged: int = 0
    renumbered: int = 0
    """Objects whose resource version could not be kept."""
    kept: int = 0
    """Objects of an earlier dump that this one does not cover."""
    by_kind: dict[str, int] = field(default_factory=dict)


class Known(NamedTuple):
    """The newest state of a key in the file."""

    revision: int
    created: int
    digest: bytes


Report = Callable[[int], None]


class Loader:
    """Loads one dump into an open log. Its methods raise LogError."""

    def __init__(self, log: SqlLog, staging: Staging, kinds: Kinds, findings: Findings) -> None:
        self._log = log
        self._staging = staging
        self._kinds = kinds
        self._findings = findings
        self._codec = JSONCodec()
        self._last = 0
        self._records: list[Record] = []
        self._size = 0
        self._time, self._now = 0, ""
        self.counts = Counts()

    async def load(
        self, dump: Dump, earlier: Sequence[Dump], *, secrets: bool, report: Report
    ) -> int:
        """Append the dump. Returns its revision. Raises DumpError, LogError."""
        self._now = meta.format_time(dump.time)
        self._time = int(dump.time.timestamp() * 1_000_000)
        known = {} if not earlier else await self._known()
        horizon = await self._log.horizon()
        self._last = horizon.newest if earlier else 0
        if earlier and dump.time < earlier[-1].time:
            raise DumpError(
                f"this dump is of {meta.format_time(dump.time)}, but the file already contains "
                f"one of {meta.format_time(earlier[-1].time)}: append dumps in the order of time"
            )
        seen: set[str] = set()
        for done, (key, value, version) in enumerate(self._objects(secrets=secrets)):
            seen.add(key)
            await self._put(key, value, version, known.get(key))
            if not done % ROWS:
                report(done)
        if earlier:
            await self._remove({key for key in known if key not in seen}, known)
        objects_end = self._last = max(self._last, horizon.compacted)
        mark = _mark(dump._replace(revision=objects_end + 1), earlier)
        self._append(keys.CAPTURED, mark, known.get(keys.CAPTURED))
        await self._flush()
        if not earlier:
            await self._compact(objects_end)
        return self._last

    def _objects(self, *, secrets: bool) -> Iterator[tuple[str, Object, int]]:
        hidden = 0
        for version, obj in self._staging.objects():
            name = KindName(meta.split_api_version(obj["apiVersion"])[0], obj["kind"])
            if name == SECRET and not secrets:
                hidden += 1
                continue
            try:
                key, value = self._kinds.stored(name, obj)
            except Unread:
                continue  # counted by Kinds
            self.counts.by_kind[obj["kind"]] = self.counts.by_kind.get(obj["kind"], 0) + 1
            yield key, self._identified(key, value), version
        for key, crd in self._kinds.made_keys():
            yield key, self._identified(key, crd), 0
        if hidden:
            self._findings.add("Secrets are confidential: --secrets reads them", "Secret", hidden)

    def _identified(self, key: str, obj: Object) -> Object:
        """Give an object an identity, if it has none: definitions that were made, and objects that
        no server has stored."""
        metadata = obj["metadata"]
        if not metadata.get("uid"):
            metadata["uid"] = str(uuid.uuid5(uuid.NAMESPACE_URL, key))
        if not metadata.get("creationTimestamp"):
            metadata["creationTimestamp"] = self._now
        return obj

    async def _put(self, key: str, value: Object, version: int, known: Known | None) -> None:
        if known is not None and known.digest == _digest(value):
            self.counts.unchanged += 1
            return
        if known is None:
            self.counts.added += 1
        else:
            self.counts.changed += 1
        self._append(key, value, known, version)
        if len(self._records) >= ROWS or self._size >= BYTES:
            await self._flush()

    def _append(self, key: str, value: Object, known: Known | None, version: int = 0) -> None:
        revision = max(version, self._last + 1)
        self.counts.renumbered += bool(version) and revision != version
        data = self._codec.encode(value, revision)
        previous, created = (0, revision) if known is None else (known.revision, known.created)
        self._records.append(Record(revision, key, previous, created, False, data, self._time))
        self._size += len(data)
        self._last = revision

    async def _flush(self) -> None:
        if self._records:
            async with self._log.begin() as transaction:
                await transaction.append(self._records)
        self._records, self._size = [], 0

    async def _compact(self, revision: int) -> None:
        horizon = await self._log.horizon()
        if revision > horizon.compacted:
            await self._log.compact(revision, at_once=True)

    async def _known(self) -> dict[str, Known]:
        """Return the newest state of each key in the file."""
        found: dict[str, Known] = {}
        after = 0
        while (rows := await self._log.rows(after, ROWS)).revisions:
            columns = zip(rows.revisions, rows.keys, rows.created, rows.data, strict=True)
            for revision, key, created, data in columns:
                if revision in rows.deleted:
                    found.pop(key, None)
                else:
                    found[key] = Known(revision, created, _digest(orjson.loads(data)))
            after = rows.revisions[-1]
        return found

    async def _remove(self, missing: Collection[str], known: Mapping[str, Known]) -> None:
        """Append the deletions of objects that the dump would contain."""
        await self._flush()
        newest = (await self._log.horizon()).newest
        covered = self._covered()
        for key in sorted(missing):
            if key == keys.CAPTURED:
                continue
            prefix = next((each for each in covered if key.startswith(each)), "")
            namespace, slash, _ = key.removeprefix(prefix).partition("/")
            is_gone = bool(prefix) and (not slash or self._covers_namespace(namespace))
            if not is_gone:
                self.counts.kept += 1
                continue
            ((record),) = await self._log.at(Range(key), newest)
            self._last += 1
            data = self._codec.encode(orjson.loads(record.data), self._last)
            self._records.append(
                Record(self._last, key, record.revision, record.created, True, data, self._time)
            )
            self.counts.deleted += 1
            if len(self._records) >= ROWS:
                await self._flush()

    def _covered(self) -> list[str]:
        """Return the prefixes of the kinds that the dump contains, or contains an empty list of:
        without those of damaged files, which can have contained what is missing."""
        names = self._staging.kinds.keys() - self._staging.damaged
        prefixes = {self._kinds.prefix(name) for name in names}
        return sorted(prefixes - {""}, key=len, reverse=True)

    def _covers_namespace(self, namespace: str) -> bool:
        """Return whether the dump contains objects of a namespace, or all namespaces without this
        one."""
        kinds = self._staging.kinds.get(KindName("", "Namespace"))
        return namespace in self._staging.namespaces or bool(kinds and kinds.count)


def dumps_of(mark: Object | None) -> list[Dump]:
    """Return the dumps that a mark lists, the oldest first."""
    return [
        Dump(**{**each, "time": datetime.fromisoformat(each["time"])})
        for each in (mark or {}).get("dumps") or ()
    ]


def _mark(dump: Dump, earlier: Sequence[Dump]) -> Object:
    # the revision of a dump is that of its mark, which the next mark knows
    dumps = [*earlier, dump]
    if len(dumps) > DUMPS:
        raise DumpError(f"the file already contains {DUMPS} dumps")
    return {
        "kind": "Capture",
        "apiVersion": "inkube.dev/v1",
        "metadata": {"name": "dump"},
        "dumps": [{**each._asdict(), "time": meta.format_time(each.time)} for each in dumps],
    }


def _digest(value: Object) -> bytes:
    metadata = {**value["metadata"]}
    metadata.pop("resourceVersion", None)
    text = orjson.dumps({**value, "metadata": metadata}, option=orjson.OPT_SORT_KEYS)
    return hashlib.blake2b(text, digest_size=16).digest()
