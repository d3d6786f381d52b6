"""The generic registry: create, get, update, delete of any kind, over one store.

Every write of every client passes here, in this order: transform (body, patch or apply) →
ownership of fields → admission.mutate → the behaviour's prepare and validate → admission.validate →
store, within the kind's transaction where it has one. A dry run is another store, not another path.
What has to be converted is awaited before the transform (what is stored) and before the store (what
is to be). Follows apiserver/pkg/registry/generic/registry/store.go.
"""

from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from typing import Any, NamedTuple

import orjson

from inkube.apiserver.registry import conversions, deletion, ownerreferences, ownership
from inkube.apiserver.registry.admission import Attributes, Chain, Operation
from inkube.apiserver.registry.calls import Call, DeleteOptions
from inkube.apiserver.registry.queues import Ahead, Queues, Turn
from inkube.apiserver.registry.resources import Resource
from inkube.apiserver.registry.selections import Selections
from inkube.apiserver.registry.stamps import Stamps
from inkube.apiserver.registry.transactions import Pending, to_the_end
from inkube.apiserver.registry.worker import Worker
from inkube.schemas import fielderrors, status
from inkube.schemas.builtin.behaviours import Stamp
from inkube.schemas.golang import gojson, strconv
from inkube.schemas.objects import same
from inkube.schemas.ownership import managedfields
from inkube.storage import errors as storage_errors
from inkube.storage import writes
from inkube.storage.entry import Entry, ShownEntry
from inkube.storage.store import Store, Underway
from inkube.storage.turns import Turns

Object = dict[str, Any]
MAX_RETRIES = (
    100  # each lost race means that another write won, so this many losses are no accident
)
MAX_OBJECT = 1_572_864  # etcd's default request limit, which the reference's clients meet
GENERATE_RETRIES = 8  # as CreateWithGenerateName retries
_NOT_AT_FIRST = ("deletionTimestamp", "deletionGracePeriodSeconds", "selfLink")
_NEVER_FIRST = frozenset({"managedFields", *_NOT_AT_FIRST})


class Outcome(NamedTuple):
    """What a write led to; `entry` is the stored state, to be shown by `Registry.shown`."""

    entry: Entry
    created: bool = False
    deleted: bool = False
    changed: bool = True


class Update(NamedTuple):
    """How an update makes the new object from the old one (None: there is none).

    `retry` says whether a lost race may be tried again with the newer object.
    """

    transform: Callable[[Object | None], Object | Coroutine[Any, Any, Object]]
    retry: bool = False
    create: bool = False
    """Whether the new object may be created when there is none (apply, PUT of some kinds)."""
    tracks: bool = True
    """Whether ownership is tracked here; apply has done so itself."""
    foresees: bool = False
    """Whether it may be given a state that is not stored yet, and again another where that one
    never came: `transform` does nothing else, and makes nothing of the old resourceVersion."""
    shares: bool = False
    """Whether `transform` changes nothing of the old object: it is given the stored one, and may
    make parts of it parts of the new one, which are then known to be the same."""


class Registry:
    """One for all kinds; the Call says which."""

    def __init__(self, store: Store, chain: Chain, stamps: Stamps) -> None:
        self.store = store
        self.chain = chain
        self.stamps = stamps
        self._dry = store.dry_run()
        self._turns = Turns()
        self._queues = Queues()
        self.selections = Selections(store)
        self.worker = Worker()
        """Where what takes long is computed; to be closed."""

    def get(self, call: Call) -> Entry:
        """The newest state. Raises StatusError 404."""
        entry = self.store.get(call.key)
        if entry is None:
            raise status.not_found(call.resource.group, call.resource.plural, call.name)
        return entry

    async def create(self, call: Call, obj: Object) -> Outcome:
        """Store a new object; fills in name, namespace, uid and times."""
        await self._turns.stage()
        if not call.is_current:
            await self.store.current()
        attributes = Attributes("CREATE", call, obj, None, call.options.dry_run)
        meta = metadata(obj)
        self._name(call, obj)
        if call.resource.definition.terminating:
            why = "create not allowed while custom resource definition is terminating"
            raise status.forbidden(call.resource.group, call.resource.plural, call.name, why)
        await self._deduplicate(call, meta)
        return await self._create(call, obj, attributes, tracks=True)

    async def _create(
        self, call: Call, obj: Object, attributes: Attributes, *, tracks: bool
    ) -> Outcome:
        """Store a new object; with `tracks` its ownership is worked out here."""
        late = tracks and self._may_track_late(call, obj)
        if tracks and not late:
            await self._track(call, None, obj)
        await self._mutate(attributes)
        await self.worker.run(call.effort, self._before_create, call, obj)
        if late:
            await self._track(call, None, obj)
        await self.chain.validate(attributes)
        if not call.options.dry_run:  # DryRunnableStorage.Create looks at names only
            _drop_version(metadata(obj))
        entry = await self._store_new(call, obj)
        return Outcome(entry, created=True)

    async def _store_new(self, call: Call, obj: Object) -> Entry:
        if call.resource.behaviour.transactor is not None:
            pending = self._pending("CREATE", call, None, obj)
            try:
                return (await to_the_end(self._transact(call, pending))).entry
            except storage_errors.AlreadyExists as error:
                raise self._taken(call) from error
        store = self._dry if call.options.dry_run else self.store
        for attempt in range(GENERATE_RETRIES):
            stored = await self._stored(call, obj)
            try:
                return await store.create(call.key, stored)
            except storage_errors.AlreadyExists as error:
                meta = obj["metadata"]
                if not call.generated or attempt == GENERATE_RETRIES - 1:
                    raise self._taken(call) from error
                meta["name"] = call.name = self.stamps.generate_name(call.generated)
        raise AssertionError("unreachable: the loop returns or raises")

    def _may_track_late(self, call: Call, obj: Object) -> bool:
        """Whether the ownership of a new object is the same once it has been validated: so it is
        not worked out of what is refused, which takes a tenth of such a request.

        Entries that come with it may be wrong, which is told before; members that no object begins
        with are owned by who sends them all the same.
        """
        return (
            call.resource.behaviour.leaves_ownership
            and _NEVER_FIRST.isdisjoint(obj["metadata"])
            and not self.chain.changes(call.resource, "CREATE")
        )

    def _pending(
        self, operation: Operation, call: Call, entry: Entry | None, obj: Object | None
    ) -> Pending:
        return Pending(
            operation,
            call.key,
            call.namespace,
            call.name,
            entry,
            obj,
            subresource=call.subresource,
            user=call.user.name,
            dry_run=call.options.dry_run,
            warn=call.warn,
        )

    async def _transact(self, call: Call, pending: Pending) -> Outcome:
        """Carry a write out within its kind's transaction. Raises what storage raises."""
        transactor = call.resource.behaviour.transactor
        assert transactor is not None, "asked by the caller"
        store = self._dry if pending.dry_run else self.store
        async with transactor(pending):
            own = await self._own_write(call, pending)
            batch = [*([] if own is None else [own]), *pending.beside]
            made = await store.commit(batch) if batch else []
            if own is not None:
                entry = made[0]
            else:
                assert pending.entry is not None, "a create writes"
                entry = pending.entry
        changed = bool(batch)
        if pending.record is not None and pending.obj is not None:
            # what a view's client is shown is what the transaction made of it
            shown = pending.obj["metadata"]
            shown["resourceVersion"] = str(entry.revision)
            for member in ("generation", "managedFields"):  # which are the record's alone
                shown.pop(member, None)
            entry = ShownEntry(entry, orjson.dumps(pending.obj), pending.obj)
        created = pending.operation == "CREATE"
        return Outcome(entry, created=created, deleted=pending.goes, changed=changed)

    async def _own_write(self, call: Call, pending: Pending) -> writes.Write | None:
        """What a transaction stores of the object it is about; None where nothing differs."""
        entry = pending.entry
        state = pending.record if pending.record is not None else pending.obj
        stored = state
        if state is not None and pending.record is None:
            stored = await self._stored(call, state)
        if entry is None:
            assert stored is not None, "a create has an object"
            return writes.Create(call.key, stored)
        if stored is not None:
            stored["metadata"].pop("resourceVersion", None)
        if pending.goes:
            return writes.Delete(entry.key, entry.revision, stored)
        assert stored is not None, "only what goes leaves nothing"
        if same_state(stored, entry.value):
            return None
        if pending.dry_run:
            stored["metadata"]["resourceVersion"] = str(entry.revision)
        return writes.Update(entry.key, stored, entry.revision)

    def _taken(self, call: Call) -> status.StatusError:
        entry = self.store.get(call.key)
        terminating = entry is not None and "deletionTimestamp" in entry.value["metadata"]
        return status.already_exists(
            call.resource.group, call.resource.plural, call.name, terminating=terminating
        )

    def _name(self, call: Call, obj: Object) -> None:
        """The generated name; admission sees it."""
        meta = obj["metadata"]
        if not meta.get("name"):
            computed = call.resource.behaviour.computed_name(obj)
            if computed and not meta.get("generateName"):
                meta["name"] = computed
        if not meta.get("name"):
            prefix = meta.get("generateName") or call.resource.behaviour.name_prefix(obj)
            if prefix and isinstance(prefix, str):
                meta["name"] = self.stamps.generate_name(prefix)
                call.generated = prefix
        call.name = meta.get("name") or ""

    def _before_create(self, call: Call, obj: Object) -> None:
        """rest.BeforeCreate: system fields, the kind's preparation, every validation."""
        behaviour, meta = call.resource.behaviour, obj["metadata"]
        for member in _NOT_AT_FIRST:
            meta.pop(member, None)
        if call.resource.namespaced:
            meta["namespace"] = call.namespace
        else:
            meta.pop("namespace", None)
        meta["uid"] = self.stamps.uid()
        meta["creationTimestamp"] = self.stamps.timestamp()
        call.name = meta.get("name") or ""
        served = call.served
        if behaviour.named_by_uid and not call.name:
            meta["name"] = call.name = self.stamps.uid()
        behaviour.prepare_create(served, obj)
        if behaviour.stamps:
            behaviour.stamp(obj, None, "", self._stamp(call))
        found = behaviour.validate(served, obj, call.warn)
        if found:
            kind = obj.get("kind") or call.resource.kind  # which a custom resource may get wrong
            raise status.invalid(behaviour.error_group(served), kind, call.name, found)
        for warning in behaviour.warnings(obj, None, call.subresource):
            call.warn(warning)

    async def _track(self, call: Call, old: Object | None, obj: Object) -> None:
        """Record who set what; ownership changes nothing else of the object."""
        steps = ownership.track(call, old, obj, self.stamps.timestamp())
        waits = call.resource.converter is not None
        await self.worker.finish(call.effort, steps, waits=waits)

    async def shown(self, call: Call, entries: Sequence[Entry]) -> Sequence[Entry]:
        """The entries as the call's version shows them; to be viewed. Raises StatusError 500."""
        if call.resource.converter is None:
            return entries
        return await conversions.shown(call.resource, call.served, entries)

    async def _stored(self, call: Call, obj: Object) -> Object:
        """As it is kept, in the storage version. Raises StatusError 500 where it is too large."""
        steps = _to_be_stored(call.resource, obj)
        waits = call.resource.converter is not None
        return await self.worker.finish(call.effort, steps, waits=waits)

    async def update(self, call: Call, change: Update) -> Outcome:
        """Replace what is stored by what `change` makes of it."""
        await self._turns.stage()
        if not call.is_current:
            await self.store.current()
        told = len(call.warnings)
        for _ in range(MAX_RETRIES):
            del call.warnings[told:]  # of a state that is another one now
            if call.options.dry_run:  # which changes nothing for others
                outcome = await self._attempt(call, change, None)
            else:
                async with self._queues.turn(call.key) as turn:
                    outcome = await self._attempt(call, change, turn)
            if outcome is not None:
                return outcome
        raise self._stale(call)

    async def _attempt(self, call: Call, change: Update, turn: Turn | None) -> Outcome | None:
        """Read, change, write; None where others wrote meanwhile and the change allows to try
        again. It begins with what the write before stores, where it may and that is not stored."""
        try:
            if turn is not None:
                if change.foresees and turn.ahead is not None and self._foresees(call, turn.ahead):
                    outcome = await self._update_ahead(call, change, turn, turn.ahead)
                    if outcome is not None:
                        return outcome
                await turn.settled()
            entry = self.store.get(call.key)
            if entry is not None:
                return await self._update(call, change, entry, turn)
        except storage_errors.NotFound:
            return None  # deleted meanwhile
        except storage_errors.Conflict as error:
            if not change.retry:
                raise self._stale(call) from error
            return None
        try:
            return await self._update_missing(call, change)
        except status.StatusError as error:
            if error.reason != status.Reason.ALREADY_EXISTS:
                raise
            return None  # created meanwhile

    def _foresees(self, call: Call, ahead: Ahead) -> bool:
        """Whether a state may be worked on that is not stored: nobody beyond this process, and no
        other write, is shown it, and the object lives on."""
        resource = call.resource
        alone = resource.converter is None and resource.behaviour.transactor is None
        lives = "deletionTimestamp" not in ahead.value["metadata"]
        return alone and lives and self.chain.is_alone(resource, "UPDATE")

    async def _update_ahead(
        self, call: Call, change: Update, turn: Turn, ahead: Ahead
    ) -> Outcome | None:
        """As `_update`, of the state that is to come. Nothing is answered that a state never stored
        led to: None where it is refused, which has to be seen again with what is stored."""
        told = len(call.warnings)
        entry = self.store.shown(ahead.entry, ahead.value)
        try:
            outcome = await self._update(call, change, entry, turn, ahead.underway)
        except status.StatusError:
            del call.warnings[told:]
            return None
        if outcome.changed:
            return outcome
        stored = await ahead.underway.outcome()
        return None if stored is None else outcome._replace(entry=stored[0])

    def _stale(self, call: Call) -> status.StatusError:
        told = call.resource.behaviour.stale(call.name)
        resource = call.resource
        return told or status.conflict(resource.group, resource.plural, call.name)

    async def _update_missing(self, call: Call, change: Update) -> Outcome:
        if not change.create:
            raise status.not_found(call.resource.group, call.resource.plural, call.name)
        obj = await self._transformed(call, change, None)
        meta = metadata(obj)
        if meta.get("uid"):
            raise self._wrong_uid(call, meta["uid"], "")
        if not call.options.dry_run:  # DryRunnableStorage.Create keeps what was sent
            meta.pop("resourceVersion", None)
        if call.resource.namespaced:
            meta["namespace"] = call.namespace
        attributes = Attributes("CREATE", call, obj, None, call.options.dry_run)
        return await self._create(call, obj, attributes, tracks=change.tracks)

    async def _update(
        self,
        call: Call,
        change: Update,
        entry: Entry,
        turn: Turn | None,
        after: Underway | None = None,
    ) -> Outcome:
        """Change an entry: a stored one, or the one that the write `after` is to store. A dry run
        has no turn."""
        [shown] = await self.shown(call, [entry])
        old = call.view(shown)
        call.weight = max(call.weight, len(entry.data))
        obj = await self._transformed(
            call, change, old if change.shares else self.copy(call, shown)
        )
        attributes = Attributes("UPDATE", call, obj, old, call.options.dry_run)
        await self._deduplicate(call, metadata(obj))
        if change.tracks:
            await self._track(call, old, obj)
        await self._mutate(attributes)
        self._check_version(call, obj, entry)
        await self.worker.run(call.effort, self._before_update, call, obj, old)
        await self.chain.validate(attributes)
        managedfields.keep_times(old, obj)
        return await self._store_changed(call, obj, entry, turn, after)

    async def _transformed(self, call: Call, change: Update, old: Object | None) -> Object:
        """The new object, made beside the loop where that may take long."""
        made = await self.worker.run(call.effort, change.transform, old)
        if isinstance(made, dict):
            return made
        waits = call.resource.converter is not None
        return await self.worker.finish(call.effort, made, waits=waits)

    async def _mutate(self, attributes: Attributes) -> None:
        """Mutating admission; entries of managedFields it breaks are put back."""
        obj = attributes.object
        assert obj is not None, "only creates and updates come here"
        sent = obj["metadata"].get("managedFields")
        await self.chain.mutate(attributes)
        warning = managedfields.admitted(sent, obj)
        if warning:
            attributes.call.warn(warning)
        await self._deduplicate(attributes.call, obj["metadata"], admitted=True)

    async def _deduplicate(self, call: Call, meta: Object, *, admitted: bool = False) -> None:
        if meta.get("ownerReferences"):
            drop = partial(ownerreferences.deduplicate, call, meta, admitted=admitted)
            await self.worker.run(call.effort, drop)

    async def _store_changed(
        self, call: Call, obj: Object, entry: Entry, turn: Turn | None, after: Underway | None
    ) -> Outcome:
        dry_run = call.options.dry_run
        obj["metadata"].pop("resourceVersion", None)
        if not dry_run:  # the storage drops it, and nothing before
            obj["metadata"].pop("selfLink", None)
        if call.resource.behaviour.transactor is not None:
            pending = self._pending("UPDATE", call, entry, obj)
            if call.resource.is_view:
                pending.record = orjson.loads(entry.data)
            else:
                pending.goes = deletion.is_finished(call, obj, entry.value)
            return await to_the_end(self._transact(call, pending))
        if deletion.is_finished(call, obj, entry.value):
            final = await self._stored(call, obj)
            await (self._dry if dry_run else self.store).delete(entry.key, entry.revision, final)
            # the reference answers the final state under the version it was deleted at
            shown = self.store.shown(entry, final)
            return Outcome(shown, deleted=True)
        stored = await self._stored(call, obj)
        if same_state(stored, entry.value):
            return Outcome(entry, changed=False)
        if turn is None:
            stored["metadata"]["resourceVersion"] = str(entry.revision)
            return Outcome(await self._dry.update(entry.key, stored, entry.revision))
        write = writes.Update(entry.key, stored, entry.revision, after)
        underway = await self.store.submit(write)
        turn.hand_on(Ahead(entry, stored, underway))
        [changed] = await underway
        return Outcome(changed)

    def _check_version(self, call: Call, obj: Object, entry: Entry) -> None:
        """Optimistic locking; a kind may allow to leave the version out."""
        resource = call.resource
        meta = metadata(obj)
        version = parse_version(meta.get("resourceVersion"))
        uid = meta.get("uid")
        current = entry.value["metadata"]["uid"]
        if version == 0:
            if not _unconditional(call):
                told = resource.behaviour.versionless(call.name)
                if told is not None:
                    raise told
                error = fielderrors.invalid(
                    "metadata.resourceVersion", 0, "must be specified for an update"
                )
                raise status.invalid(resource.group, resource.plural, call.name, [error])
            meta["resourceVersion"] = str(entry.revision)
        elif version != entry.revision:
            raise self._stale(call)
        if uid and uid != current and (call.verb == "update" or call.subresource == "scale"):
            raise self._wrong_uid(call, uid, current)

    def _stamp(self, call: Call) -> Stamp:
        user = call.user
        return Stamp(self.stamps.timestamp(), user.name, user.uid, user.groups, user.extra)

    def _wrong_uid(self, call: Call, uid: str, current: str) -> status.StatusError:
        resource = call.resource
        return status.wrong_uid(resource.group, resource.plural, call.name, call.key, uid, current)

    def _before_update(self, call: Call, obj: Object, old: Object) -> None:
        """rest.BeforeUpdate: what the server owns is kept, then every validation."""
        meta, before = obj["metadata"], old["metadata"]
        meta["creationTimestamp"] = before["creationTimestamp"]
        if "deletionTimestamp" in before:
            meta["deletionTimestamp"] = before["deletionTimestamp"]
        grace = before.get("deletionGracePeriodSeconds")
        if grace is not None and meta.get("deletionGracePeriodSeconds") is None:
            meta["deletionGracePeriodSeconds"] = grace
        meta.setdefault("uid", before["uid"])
        if not meta["uid"]:
            meta["uid"] = before["uid"]
        if call.resource.namespaced:
            meta["namespace"] = call.namespace
        else:
            meta.pop("namespace", None)
        behaviour, served = call.resource.behaviour, call.served
        behaviour.prepare_update(served, obj, old, call.subresource)
        if behaviour.stamps:
            behaviour.stamp(obj, old, call.subresource, self._stamp(call))
        found = behaviour.validate_update(
            served, obj, old, subresource=call.subresource, warn=call.warn
        )
        if found:
            name = meta.get("name") or ""  # which a webhook may have changed
            kind = obj.get("kind") or call.resource.kind
            raise status.invalid(behaviour.error_group(served), kind, name, found)
        for warning in behaviour.warnings(obj, old, call.subresource):
            call.warn(warning)

    def copy(self, call: Call, entry: Entry) -> Object:
        """The same as `call.view`, to be changed freely."""
        if call.resource.shows(entry, call.served):
            obj: Object = orjson.loads(entry.data)
            return obj
        copied: Object = orjson.loads(orjson.dumps(call.view(entry)))
        return copied

    async def delete(self, call: Call, options: DeleteOptions, *, admits: bool = True) -> Outcome:
        """Delete, or mark as being deleted while finalizers hold it.

        `admits` says whether admission is asked; an eviction was admitted itself.
        """
        if not call.is_current:
            await self.store.current()
        for _ in range(MAX_RETRIES):
            try:
                if options.dry_run:
                    return await self._delete(call, options, admits=admits)
                async with self._queues.turn(call.key) as turn:
                    await turn.settled()
                    return await self._delete(call, options, admits=admits)
            except (storage_errors.Conflict, storage_errors.NotFound):
                continue
        raise status.conflict(call.resource.group, call.resource.plural, call.name)

    async def _delete(self, call: Call, options: DeleteOptions, *, admits: bool) -> Outcome:
        entry = self.get(call)
        deletion.check_preconditions(call, entry, options)
        [shown] = await self.shown(call, [entry])
        old = call.view(shown)
        if admits:
            attributes = Attributes("DELETE", call, None, old, options.dry_run, options)
            await self.chain.mutate(attributes)
            await self.chain.validate(attributes)
        plan = deletion.plan(call, self.copy(call, shown), options, self.stamps)
        return await self._carry_out(call, plan, entry, dry_run=options.dry_run)

    async def _carry_out(
        self, call: Call, plan: deletion.Plan, entry: Entry, *, dry_run: bool
    ) -> Outcome:
        if call.resource.behaviour.transactor is not None:
            pending = self._pending("DELETE", call, entry, plan.state)
            pending.goes, pending.dry_run = plan.goes, dry_run
            return await to_the_end(self._transact(call, pending))
        store = self._dry if dry_run else self.store
        stored = None if plan.state is None else await self._stored(call, plan.state)
        changed = stored is not None and not same_state(stored, entry.value)
        if stored is not None and changed:
            entry = await store.update(entry.key, stored, entry.revision)
        if plan.goes:
            await store.delete(entry.key, entry.revision)
        return Outcome(entry, deleted=plan.goes, changed=changed)


def _unconditional(call: Call) -> bool:
    behaviour = call.resource.behaviour
    allowed = behaviour.unconditional_update and (behaviour.lenient_status or not call.subresource)
    return allowed or call.subresource == "scale"


def metadata(obj: Object) -> Object:
    """The object's metadata, made when it is missing."""
    meta: Object | None = obj.get("metadata")
    if meta is None:
        meta = obj["metadata"] = {}
    return meta


def parse_version(text: Any) -> int:
    """A resourceVersion of a body; "" and "0" mean none. Raises StatusError 500 as upstream."""
    if not text:
        return 0
    try:
        return strconv.parse_uint(str(text))
    except ValueError as error:
        raise status.unknown(str(error)) from error


def uid_without_object(call: Call, uid: str) -> status.StatusError:
    """An apply that names a uid where there is no object."""
    why = f"uid mismatch: the provided object specified uid {uid}, and no existing object was found"
    return status.conflict(call.resource.group, call.resource.plural, call.name, why)


def same_state(new: Object, stored: Object) -> bool:
    """Whether a write would change nothing; the stored resourceVersion does not count."""
    old_meta, new_meta = stored["metadata"], new["metadata"]
    if len(new) != len(stored) or len(new_meta) + ("resourceVersion" not in new_meta) != len(
        old_meta
    ):
        return False
    return same(
        {**new, "metadata": {**new_meta, "resourceVersion": old_meta["resourceVersion"]}}, stored
    )


async def _to_be_stored(resource: Resource, obj: Object) -> Object:
    data = orjson.dumps(obj)
    if gojson.may_hold_floats(data):
        gojson.settle_numbers(obj)
    stored = await conversions.to_storage(resource, obj)
    size = len(data) if stored is obj else len(orjson.dumps(stored))
    if size > MAX_OBJECT and size - _owned(stored) > MAX_OBJECT:
        raise status.unknown("etcdserver: request is too large")
    return stored


def _owned(obj: Object) -> int:
    """Bytes of what is kept about owners, which no client sends: the reference accepts 60,000
    labels, though with them an object would be too large."""
    return len(orjson.dumps(obj["metadata"].get("managedFields")))


def _drop_version(meta: Object) -> None:
    """Whoever creates an object cannot know its version; one that is none is overlooked.

    Raises StatusError 500 (storage.Versioner.ObjectResourceVersion, ErrResourceVersionSetOnCreate).
    """
    text = meta.pop("resourceVersion", "")
    if not text:
        return
    try:
        version = strconv.parse_uint(text)
    except ValueError:
        return
    if version:
        raise status.unknown("resourceVersion should not be set on objects to be created")
