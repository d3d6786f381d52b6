"""The live table of served resources: every definition, compiled lazily, behind one lookup.

A `Resource` is a definition with its strategy, its wording and, if its versions need one, its
converter. Installing a CRD replaces the old Resource with a new one. Running calls keep the old
one.
"""

from collections.abc import Awaitable, Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, TypeVar

from inkube.apiserver.registry import keys
from inkube.apiserver.registry.delegates import Delegate
from inkube.apiserver.registry.renewals import Renewals
from inkube.apiserver.registry.transactions import Transactor
from inkube.schemas import crds, wordings
from inkube.schemas.definitions import Definition, Version
from inkube.schemas.lazyproperty import cached_property
from inkube.schemas.meta import GVK
from inkube.schemas.objects import Empty, Object
from inkube.schemas.served import Served
from inkube.schemas.strategy import Strategy
from inkube.schemas.wordings import Wording
from inkube.storage import Entry, columns

T = TypeVar("T")


Handler = Callable[[Any], Awaitable[Any]]
"""Responds to an exchange of `handlers.verbs`."""
Endpoint = Callable[[Any, Any, Any], Awaitable[Any]]
"""Responds to a request. `app` passes the arguments."""


class Converter(Protocol):
    """Converts objects between versions over the network; combines with any strategy."""

    async def convert(
        self, objects: Sequence[Object], api_version: str, anew: bool = False
    ) -> list[Object]:
        """Return copies in that version, which the caller can change. Raises StatusError 500.

        `anew` ignores recent results of conversion.
        """
        ...


class Resource:
    """A kind as it is served now. Objects stored after the revision `since` fit its schema.

    With `stored_as`, its objects are stored as those of another resource. If its form cannot be
    converted back to the stored object, the kind is a view (`is_view`): a converter makes its
    objects, and its transactor decides which object is stored. `serve` makes the `Served` of a
    version. `also` are the versions of other resources with the same objects: their managers can
    own fields.
    """

    def __init__(
        self,
        definition: Definition,
        make_strategy: Callable[[], Strategy],
        *,
        serve: Callable[[Definition, Version], Served] | None = None,
        converter: Converter | None = None,
        transactor: Transactor | None = None,
        stored_as: "Resource | None" = None,
        also: Sequence[Served] = (),
        since: int = 0,
        is_view: bool = False,
        handlers: Mapping[str, Handler | None] | None = None,
    ) -> None:
        self.definition = definition
        self._make_strategy = make_strategy
        self.converter = converter
        """Converts objects to other versions; None if the code of `Served` converts them."""
        self.transactor = transactor
        """The kind's code around its writes, between the last check and the commit; or None."""
        self.wording = wordings.of(definition)
        self.is_view = is_view
        self.handlers = handlers or {}
        """Handlers of subresources that only this kind has, by name. None as a handler means that
        the subresource is another address of the object: the handlers of the verbs serve it."""
        self.group = definition.group
        self.plural = definition.names.plural
        self.kind = definition.names.kind
        self.namespaced = definition.namespaced
        self.is_namespaces = (self.group, self.plural) == ("", "namespaces")
        self.since = since
        serve = serve or crds.CustomServed
        self.versions = {each.name: serve(definition, each) for each in definition.versions}
        self.also = also
        own = self.versions[definition.storage_version.name]
        self.storage: Served = own if stored_as is None else stored_as.storage
        self.prefix: str = self._own_prefix() if stored_as is None else stored_as.prefix
        self._renewals = Renewals()
        self._made: dict[Hashable, Any] = {}
        self.watchers: set[Callable[[], None]] = set()
        """Functions that end the watches of this kind. Called if the schema of the kind changes or
        the kind is no longer served, because running watches would use the old schema."""

    @cached_property
    def strategy(self) -> Strategy:
        """The strategy of the kind. The first use imports and creates it."""
        return self._make_strategy()

    def _own_prefix(self) -> str:
        return keys.prefix(self.plural, self.group if self.wording.keys_have_group else "")

    def decode(
        self,
        served: Served,
        obj: Object,
        unknown: list[str] | None,
        empties: list[Empty] | None = None,
    ) -> Object:
        """Return an incoming object with its types and defaults. Adds unknown fields to `unknown`,
        and omitted empty lists and maps to `empties`.

        Can change the object in place. Raises DecodeError if a value does not fit its field.
        """
        made = served.decode(obj, unknown, empties)
        self.strategy.default(made)
        return made

    def decode_applied(self, served: Served, obj: Object) -> Object:
        """Return the merged object of an apply with its types and defaults."""
        made = served.decode_applied(obj)
        self.strategy.default(made)
        return made

    def decode_admitted(self, served: Served, obj: Object, kind: GVK) -> Object:
        """Return an object that a webhook changed, with its types and defaults.

        `kind` differs from the kind of the version if a subresource has its own kind of objects.
        """
        made = served.decode_admitted(obj, kind)
        if kind == served.gvk:
            self.strategy.default(made)
        return made

    def once(self, key: Hashable, create: Callable[[], T]) -> T:
        """Return the result of `create`, cached under the key `key` as long as the resource."""
        made: T | None = self._made.get(key)
        if made is None:
            made = self._made[key] = create()
        return made

    def forget(self) -> None:
        """Drop the results of `once`."""
        self._made.clear()

    def replace(self, former: "Resource") -> None:
        """Replace the resource served until now. Its watches continue if the schema is the same
        (for example, a definition that is being deleted deletes its objects); else they end
        (customresource_handler.go, tearDown)."""
        if former.since == self.since:
            self.watchers = former.watchers
        else:
            former.end_watches()

    def end_watches(self) -> None:
        """End all watches: the kind has another schema or is no longer served."""
        for end in tuple(self.watchers):
            end()

    def served(self, version: str) -> Served | None:
        """Return that version if it is served, else None."""
        found = self.versions.get(version)
        return found if found is not None and found.version.served else None

    def key(self, namespace: str, name: str) -> str:
        """Return the key of an object. With `name` "", return the prefix of a namespace."""
        return f"{self.prefix}{namespace}/{name}" if namespace else f"{self.prefix}{name}"

    def view(self, entry: Entry, served: Served) -> Object:
        """Return the stored object in a version. It is shared: do not change it.

        If the resource has a converter, the entry must come from `conversions.shown`.
        """
        if self.converter is not None:
            assert entry.value["apiVersion"] == served.api_version, "conversions.shown comes first"
            return entry.value
        renewed = self._renewed(entry)
        current = entry.value if renewed is None else renewed
        if served is self.storage:
            return current
        return served.converted(current)

    def reshape(self, obj: Object, api_version: str) -> Object:
        """Return an object in the form of another version for field ownership. It shares parts with
        `obj` and is not pruned, as in upstream's nopConverter."""
        return self.storage.reshape(obj, api_version)

    def shows(self, entry: Entry, served: Served) -> bool:
        """Return whether the entry's bytes are the object in that version."""
        if self.converter is not None:
            return True
        return served is self.storage and (
            not entry.revision or entry.revision > self.since or self._renewed(entry) is None
        )

    def shows_all(self, entries: Sequence[Entry], served: Served) -> bool:
        """Return whether the bytes of all entries are the objects in that version. This check is
        quick: True is exact, False can be wrong (`shows`)."""
        return served is self.storage and columns.oldest(entries) > self.since

    def _renewed(self, entry: Entry) -> Object | None:
        """Return an object stored before `since` as today's schema shows it, or None if nothing
        differs."""
        if not entry.revision or entry.revision > self.since:
            return None
        return self._renewals.of(entry, lambda: self.storage.renewed(entry.data, entry.value))


class LazyKinds(NamedTuple):
    """Kinds that are served, and created at their first lookup: a server in a test uses a few of
    the built-in kinds. The servers of a process share both mappings."""

    kinds: Mapping[tuple[str, str], str]
    """Kinds by group and plural, in the order of discovery."""
    plurals: Mapping[tuple[str, str], str]
    """The inverse: plurals by group and kind."""
    create: "Callable[[Resources, str, str], Resource]"
    """Creates the resource of a group and plural, for a table that serves the promised kinds."""


def _makes_nothing(_: "Resources", group: str, plural: str) -> Resource:
    raise LookupError(f"{plural}.{group} was not promised")


NO_LAZY_KINDS = LazyKinds({}, {}, _makes_nothing)


class Resources:
    """Every served resource, by group and plural. `revision` changes with every change."""

    def __init__(self) -> None:
        self._table: dict[tuple[str, str], Resource] = {}
        self._kinds: dict[tuple[str, str], Resource] = {}
        self._lazy_kinds = NO_LAZY_KINDS
        self._endpoints: dict[tuple[str, str, str], Endpoint] = {}
        self._deferred: frozenset[str] = frozenset()
        self._load: Callable[[], object] | None = None
        self._prepare: Callable[[], Awaitable[object]] = _nothing
        self._outline: Callable[[], Sequence[Definition] | None] = _unknown
        self._listeners: list[Callable[[], None]] = []
        self.delegates: Mapping[tuple[str, str], Delegate] = {}
        """Other servers, by the group and version that they serve."""
        self.revision = 0

    def delegate(self, delegates: Mapping[tuple[str, str], Delegate]) -> None:
        """Replace the delegates. This counts as a change of the table."""
        self.delegates = delegates
        self._changed()

    def subscribe(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Call the listener after every change of the table. Returns a function that ends this."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def defer(
        self,
        groups: Iterable[str],
        load: Callable[[], object],
        prepare: Callable[[], Awaitable[object]],
        outline: Callable[[], Sequence[Definition] | None],
    ) -> None:
        """Call `load`, which installs these groups, at the first lookup of one of them or of all.

        `prepare` does the slow part without blocking the event loop. `outline` returns the
        definitions without their schemas, which is enough for discovery, or None if only `load`
        finds the definitions.
        """
        self._deferred, self._load, self._prepare = frozenset(groups), load, prepare
        self._outline = outline

    async def loaded(self) -> None:
        """Install the deferred groups. Their modules are imported without blocking the event loop.

        A lookup without this call imports them in the event loop.
        """
        if self._load is not None:
            await self._prepare()
        self.load()

    def load(self) -> None:
        """Install the deferred groups."""
        load, self._load = self._load, None
        self._deferred = frozenset()
        self._outline = _unknown
        if load is not None:
            load()

    def close(self) -> None:
        """Forget how deferred groups are loaded, and what was made for the kinds, because the
        server has stopped. Both refer to this table."""
        self._deferred, self._load, self._prepare = frozenset(), None, _nothing
        for resource in self._table.values():
            resource.forget()

    def install_lazy(self, lazy_kinds: LazyKinds) -> None:
        """Serve these kinds, each of which is created at its first lookup. Called once, on an empty
        table."""
        self._lazy_kinds = lazy_kinds
        self._changed()

    def _existing(self, group: str, plural: str) -> Resource | None:
        """Return a promised resource, created at the first call, or None if it is not promised."""
        if (group, plural) not in self._lazy_kinds.kinds:
            return None
        made = self._table.setdefault((group, plural), self._lazy_kinds.create(self, group, plural))
        self._kinds[group, made.kind] = made
        return made

    def _all(self) -> dict[tuple[str, str], Resource]:
        """Return the table with all promised resources, in the order of the promise."""
        kinds = self._lazy_kinds.kinds
        if kinds:
            made = {name: self._table.get(name) or self._existing(*name) for name in kinds}
            self._lazy_kinds = NO_LAZY_KINDS
            self._table = {**{k: v for k, v in made.items() if v is not None}, **self._table}
            self._collect_kinds()
        return self._table

    def install(self, *resources: Resource) -> None:
        """Serve these resources. They replace resources of the same group and plural."""
        if any((each.group, each.plural) in self._lazy_kinds.kinds for each in resources):
            self._all()
        formers = [self._table.get((each.group, each.plural)) for each in resources]
        for resource in resources:
            self._table[resource.group, resource.plural] = resource
            self._kinds[resource.group, resource.kind] = resource
        if any(formers):  # a replaced resource can have had another kind
            self._collect_kinds()
        self._changed()
        for resource, former in zip(resources, formers, strict=True):
            if former is not None:
                resource.replace(former)

    def add_endpoint(self, address: tuple[str, str, str], endpoint: Endpoint) -> None:
        """Serve a read-only resource of namespaces at (group, version, name)."""
        self._endpoints[address] = endpoint

    def endpoint(self, group: str, version: str, name: str) -> Endpoint | None:
        """Return the endpoint at that address, or None."""
        return self._endpoints.get((group, version, name))

    def uninstall(self, group: str, plural: str) -> None:
        """Stop serving a resource. An unknown one is ignored."""
        former = self._all().pop((group, plural), None)
        self._collect_kinds()
        self._changed()
        if former is not None:
            former.end_watches()

    def _collect_kinds(self) -> None:
        self._kinds = {(r.group, r.kind): r for r in self._table.values()}

    def _changed(self) -> None:
        self.revision += 1
        for listener in tuple(self._listeners):
            listener()

    def get(self, group: str, plural: str) -> Resource | None:
        """Return the resource of that group and plural, or None."""
        if group in self._deferred:
            self.load()
        return self._table.get((group, plural)) or self._existing(group, plural)

    def by_kind(self, group: str, kind: str) -> Resource | None:
        """Return the resource that serves a kind, or None."""
        if group in self._deferred:
            self.load()
        found = self._kinds.get((group, kind))
        if found is None and (plural := self._lazy_kinds.plurals.get((group, kind))):
            found = self._existing(group, plural)
        return found

    def installed(self) -> Iterable[Resource]:
        """Return the installed resources, without deferred ones, which have no objects yet."""
        return tuple(self._all().values())

    async def definitions(self) -> Sequence[Definition]:
        """Return the definition of every kind, without the schema if the kind is not loaded yet."""
        outline = self._outline()
        if outline is None:
            await self.loaded()
        return (*(each.definition for each in self._all().values()), *(outline or ()))

    def is_deferred(self, group: str) -> bool:
        """Return whether the kinds of a group are not loaded yet."""
        return group in self._deferred

    def __iter__(self) -> Iterator[Resource]:
        self.load()
        return iter(tuple(self._all().values()))

    def group(self, name: str) -> list[Resource]:
        """Return every resource of one group."""
        if name in self._deferred:
            self.load()
        return [resource for resource in self._all().values() if resource.group == name]

    def wording(self, group: str) -> Wording:
        """Return the wording of a group's responses for resources that it does not serve."""
        return next((resource.wording for resource in self.group(group)), wordings.EXTENSIONS)


def _unknown() -> None:
    """Return None: the definitions of the deferred groups are not known."""


async def _nothing() -> None:
    """Do nothing, because no group is deferred."""
