"""metadata.managedFields: reading and writing its entries, and tracking ordinary writes.

`track` runs on every create, update and patch before admission; server-side apply is in
`apply`. Follows apimachinery pkg/util/managedfields: fieldmanager.go, internal/managedfields.go,
structuredmerge.go, managedfieldsupdater.go, skipnonapplied.go, stripmeta.go, capmanagers.go.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, NamedTuple

from inkube.schemas.golang import gotext
from inkube.schemas.meta import format_time
from inkube.schemas.objects import Object, same
from inkube.schemas.ownership import comparison, fieldsets
from inkube.schemas.ownership.fieldsets import EMPTY, FieldSet
from inkube.schemas.ownership.listitems import UntypableError
from inkube.schemas.ownership.typed import Steps, TypedSchema, Versions, finished, relabelled
from inkube.schemas.ownership.updater import Manager, Owned, Owners, Updater

Entry = dict[str, Any]

APPLY = "Apply"
UPDATE = "Update"
MAX_UPDATE_MANAGERS = 10  # more are merged into one entry per version, as upstream does
ANCIENT = "ancient-changes"
_BROKEN_BY_ADMISSION = (
    ".metadata.managedFields was in an invalid state after admission; this could be caused by an"
    " outdated mutating admission controller; please fix your requests: "
)
_TYPE = frozenset({"apiVersion", "kind"})
_SYSTEM = frozenset({
    "name", "namespace", "creationTimestamp", "selfLink", "uid", "clusterName", "generation",
    "managedFields", "resourceVersion",
})  # fmt: skip
STRIPPED = fieldsets.named(*_TYPE, "metadata", *(f"metadata.{name}" for name in _SYSTEM))
"""The fields that managers never own."""


class Writer(NamedTuple):
    """The manager of a write, with its version, subresource and time.

    `kind`, if set, is the required kind of an applied configuration. `time` is RFC 3339 in UTC,
    whole seconds. `ignored` are the fields that this subresource resets (`resetfields`), so the
    writer never owns them.
    """

    manager: str
    api_version: str
    subresource: str = ""
    time: str = ""
    ignored: FieldSet = EMPTY
    kind: str = ""

    def identity(self, operation: str) -> Manager:
        """Return the identity of the writer for an operation, `Update` or `Apply`."""
        version = "" if operation == APPLY else self.api_version
        return Manager(self.manager or "unknown", operation, version, self.subresource)

    def updater(self, typed: TypedSchema, versions: Versions | None) -> Updater:
        """Return the updater for this write to a kind."""
        return Updater(typed, self.api_version, self.ignored, versions, self.subresource)


class BrokenEntryError(ValueError):
    """An entry cannot be decoded; the whole list is then ignored."""


@dataclass(slots=True)
class Managed:
    """Decoded managedFields, which the processing of one write changes in place."""

    owners: Owners
    times: dict[Manager, str]


def decode(entries: Iterable[Entry] | None, *, trusted: bool = False) -> Managed:
    """Return the owners in a list of entries. Raises BrokenEntryError.

    `trusted` entries were written by `encode`: their sets are canonical and used unchanged.
    """
    managed = Managed({}, {})
    for index, entry in enumerate(entries or ()):
        operation = entry.get("operation", "")
        api_version = entry.get("apiVersion", "")
        if not trusted:
            _check(entry, index)
        fields = entry.get("fieldsV1")
        fields = {} if fields is None else fields
        applied = operation == APPLY
        manager = Manager(
            entry.get("manager", ""),
            operation,
            "" if applied else api_version,
            entry.get("subresource", ""),
        )
        managed.owners[manager] = Owned(
            fields if trusted else _parsed(fields), api_version, applied
        )
        time = entry.get("time")
        if time:
            managed.times[manager] = time if trusted else _normal(time)
    return managed


def _check(entry: Entry, index: int) -> None:
    if entry.get("operation") not in (APPLY, UPDATE):
        raise BrokenEntryError("operation must be `Apply` or `Update`")
    if not entry.get("apiVersion"):
        raise BrokenEntryError("apiVersion must not be empty")
    kind = entry.get("fieldsType") or ""
    if not kind:
        raise BrokenEntryError(f"missing fieldsType in managed fields entry {index}")
    if kind != "FieldsV1":
        fields_type = gotext.quote(kind)
        raise BrokenEntryError(f"invalid fieldsType {fields_type} in managed fields entry {index}")


def _parsed(fields: Any) -> FieldSet:
    try:
        return fieldsets.parse(fields)
    except ValueError as error:
        raise BrokenEntryError(str(error)) from error


def _normal(time: str) -> str:
    try:
        moment = datetime.fromisoformat(time)
    except ValueError as error:
        raise BrokenEntryError(f"{time!r} is not a time") from error
    return format_time(moment if moment.tzinfo else moment.replace(tzinfo=UTC))


def encode(managed: Managed, *, old: list[Entry] | None = None) -> list[Entry]:
    """Return the entries of all owners in upstream's order: Apply first, then by second, then by
    name.

    Unchanged entries of `old` are returned as the same dicts.
    """
    old_entries = {_identity(entry): entry for entry in old or ()}
    ordered = sorted(managed.owners.items(), key=lambda item: _rank(item, managed.times))
    return [
        _encoded(manager, owned, managed.times.get(manager, ""), old_entries.get(manager))
        for manager, owned in ordered
    ]


def _rank(item: tuple[Manager, Owned], times: dict[Manager, str]) -> tuple[str, ...]:
    manager, owned = item
    time = times.get(manager, "")
    return (manager.operation, time, manager.name, owned.api_version, manager.subresource)


def _identity(entry: Entry) -> Manager:
    operation = entry.get("operation", "")
    version = "" if operation == APPLY else entry.get("apiVersion", "")
    return Manager(entry.get("manager", ""), operation, version, entry.get("subresource", ""))


def _encoded(manager: Manager, owned: Owned, time: str, old: Entry | None) -> Entry:
    if (
        old is not None
        and old.get("fieldsV1") == owned.fields
        and old.get("time", "") == time
        and old.get("apiVersion") == owned.api_version
    ):
        return old
    return _entry(manager, owned._replace(fields=fieldsets.ordered(owned.fields)), time)


def _entry(manager: Manager, owned: Owned, time: str) -> Entry:
    """Return an entry, from fields that are already in order."""
    entry: Entry = {}
    if manager.name:
        entry["manager"] = manager.name
    entry["operation"] = APPLY if owned.applied else UPDATE
    entry["apiVersion"] = owned.api_version
    if time:
        entry["time"] = time
    entry["fieldsType"] = "FieldsV1"
    entry["fieldsV1"] = owned.fields
    if manager.subresource:
        entry["subresource"] = manager.subresource
    return entry


def track_update(
    live: Object | None,
    new: Object,
    *,
    typed: TypedSchema,
    writer: Writer,
    versions: Versions | None = None,
    may_not_fit: bool = False,
) -> None:
    """`track` with conversions that need no waiting."""
    convert = versions.convert if versions else relabelled
    work = track(live, new, typed=typed, writer=writer, versions=versions, may_not_fit=may_not_fit)
    finished(work, convert)


def track(
    live: Object | None,
    new: Object,
    *,
    typed: TypedSchema,
    writer: Writer,
    versions: Versions | None = None,
    may_not_fit: bool = False,
) -> Steps[None]:
    """Set `new["metadata"]["managedFields"]` for an ordinary write by `writer`.

    `live` is the old object, None on create. `new` is the object to store. Both are in the version
    of the request. Without `versions`, entries of all versions are read as this version. If an
    object or an entry cannot be typed, no entry remains, as upstream (UpdateNoErrors).
    `may_not_fit` means that `live` was stored before the schema or in another version: only then
    the whole objects are checked, else their changed parts.
    """
    if live is None and is_first(new):
        track_first(new, typed, writer)
        return
    metadata = new.setdefault("metadata", {})
    old = ((live or {}).get("metadata") or {}).get("managedFields")
    managed = _base(old, new, writer)
    metadata.pop("managedFields", None)
    if managed.owners or live is None:
        before = bare(live) if live else {**typed.empty, "apiVersion": writer.api_version}
        if may_not_fit and not (typed.fits(new) and typed.fits(before)):
            return
        if not typed.fits(_unvalidated(typed, before, new, writer.subresource)):
            return
        try:
            yield from update(managed, before, new, typed=typed, writer=writer, versions=versions)
        except UntypableError:
            return
    entries = encode(managed, old=old)
    if entries:
        metadata["managedFields"] = entries


def _unvalidated(typed: TypedSchema, before: Object, new: Object, subresource: str) -> Object:
    """Return the members that a write changes and can lose, so that no validation sees their types:
    the status, or for a write of the status the others. Those of built-in kinds are decoded into Go
    types."""
    lost: Sequence[str] = ()
    if subresource == "status":
        kept = ("metadata", "status") if typed.custom else new
        lost = [name for name in new if name not in kept]
    elif not subresource and typed.custom and "status" in new:
        lost = ("status",)
    return {name: new[name] for name in lost if not same(new[name], before.get(name))}


def is_first(new: Object) -> bool:
    """Return whether a new object has no owners before its create."""
    return not new.setdefault("metadata", {}).get("managedFields")


def track_first(new: Object, typed: TypedSchema, writer: Writer) -> None:
    """`track` for the create of an object with `is_first`: the writer owns all fields that it
    sets, or none if its status cannot be typed, which is not validated where it is dropped."""
    # leaving out STRIPPED fields is cheaper than removing them from the set
    metadata = {name: value for name, value in new["metadata"].items() if name not in _SYSTEM}
    new["metadata"].pop("managedFields", None)
    tracked = {name: value for name, value in new.items() if name not in _TYPE}
    tracked["metadata"] = metadata
    if "status" in new and not typed.fits({"status": new["status"]}):
        return
    try:
        fields = typed.created(tracked)
    except UntypableError:
        return
    fields = fieldsets.recursive_difference(fields, writer.ignored)
    if fields:
        owned = Owned(fields, writer.api_version, applied=False)
        entry = _entry(writer.identity(UPDATE), owned, writer.time)
        new["metadata"]["managedFields"] = [entry]


def _base(old: list[Entry] | None, new: Object, writer: Writer) -> Managed:
    """Return the entries of the request if they are usable, else the old ones (decodeLiveOrNew)."""
    sent = (new.get("metadata") or {}).get("managedFields")
    if writer.subresource or sent is None or sent is old or (sent and sent == old):
        return decode(old, trusted=True)
    if sent in ([], [{}]):  # isResetManagedFields
        return Managed({}, {})
    try:
        managed = decode(sent)
    except BrokenEntryError:
        return decode(old, trusted=True)
    return managed if managed.owners else decode(old, trusted=True)


def bare(obj: Object) -> Object:
    """Return the object without managedFields; other parts are shared with `obj`."""
    metadata = obj.get("metadata")
    if not metadata or "managedFields" not in metadata:
        return obj
    rest = {name: value for name, value in metadata.items() if name != "managedFields"}
    return {**obj, "metadata": rest}


def update(
    managed: Managed,
    live: Object,
    new: Object,
    *,
    typed: TypedSchema,
    writer: Writer,
    versions: Versions | None = None,
) -> Steps[None]:
    """Update `managed` for a write from `live` to `new`. Raises UntypableError."""
    updater = writer.updater(typed, versions)
    owners, taken = yield from updater.updated(live, new, managed.owners)
    managed.owners = owners
    taken = fieldsets.difference(taken, STRIPPED)
    if taken:
        manager = writer.identity(UPDATE)
        held = owners[manager].fields if manager in owners else EMPTY
        fields = fieldsets.union(taken, held)
        owners[manager] = Owned(fields, writer.api_version, applied=False)
        managed.times[manager] = writer.time
    _cap(managed)


def _cap(managed: Managed) -> None:
    """Merge the oldest updaters beyond the limit into one entry per version (capmanagers.go)."""
    owners, times = managed.owners, managed.times
    updaters = [manager for manager, owned in owners.items() if not owned.applied]
    excess = len(updaters) - MAX_UPDATE_MANAGERS
    if excess <= 0:
        return
    updaters.sort(key=lambda manager: (times.get(manager, ""), manager))
    first: dict[str, Manager] = {}
    for manager in updaters:
        if excess <= 0:
            return
        owned = owners[manager]
        version = owned.api_version
        bucket = Manager(ANCIENT, UPDATE, version, "")
        if version not in first:
            first[version] = manager
            continue
        if bucket not in owners:
            owners[bucket] = owners.pop(first[version])
        fields = fieldsets.union(owned.fields, owners[bucket].fields)
        owners[bucket] = owned._replace(fields=fields)
        if manager != bucket:
            del owners[manager]
        excess -= 1
        times[bucket] = times.get(manager, "")


def admitted(sent: list[Entry] | None, obj: Object) -> str:
    """Restore the entries `sent` to admission if admission returned invalid ones.

    Returns the warning for this case, else "". Entries that admission changed become canonical
    (apiserver fieldmanager/admission.go).
    """
    metadata = obj.get("metadata") or {}
    entries = metadata.get("managedFields")
    if not entries or entries is sent or entries == sent:
        return ""
    try:
        metadata["managedFields"] = encode(decode(entries))
    except BrokenEntryError as error:
        metadata.pop("managedFields")
        if sent:
            metadata["managedFields"] = sent
        return _BROKEN_BY_ADMISSION + str(error)
    return ""


def keep_times(live: Object, new: Object) -> bool:
    """Copy the times of `live` to `new` if only times of entries differ; returns whether it did.

    Called last, after admission, so that a write without effect changes nothing
    (apiserver fieldmanager/equality.go, IgnoreManagedFieldsTimestampsTransformer).
    """
    old_entries = (live.get("metadata") or {}).get("managedFields") or []
    metadata = new.get("metadata") or {}
    entries = metadata.get("managedFields") or []
    if not entries or list(map(_timeless, old_entries)) != list(map(_timeless, entries)):
        return False
    if not comparison.equals(bare(live), bare(new)):
        return False
    metadata["managedFields"] = old_entries
    return True


def _timeless(entry: Entry) -> Entry:
    return {name: value for name, value in entry.items() if name != "time"}
