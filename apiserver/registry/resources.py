"""The live table of what is served: every definition, compiled lazily, behind one lookup.

A `Resource` is a definition with its strategy; a `Served` is one of its versions with the compiled
schema. Installing a CRD puts a new Resource in place of the old one; calls under way keep theirs.
"""

from collections.abc import Callable, Iterable, Iterator
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any

from inkube.apiserver.registry import keys
from inkube.schemas.builtin import decoding
from inkube.schemas.definitions import Definition, Origin, Version
from inkube.schemas.meta import GVK, GVR
from inkube.schemas.ownership.typed import TypedSchema, Versions
from inkube.storage.entry import Entry

if TYPE_CHECKING:
    from inkube.apiserver.registry.admission import Plugin
    from inkube.apiserver.registry.strategy import Strategy
    from inkube.schemas.cel.rules.evaluation import RuleSet
    from inkube.schemas.structural.compiled import CompiledSchema

Object = dict[str, Any]


class Served:
    """One version of a kind, with what its schema compiles to on first use."""

    def __init__(self, definition: Definition, version: Version) -> None:
        self.definition = definition
        self.version = version
        self.name = version.name
        self.gvk: GVK = definition.gvk(version.name)
        self.gvr: GVR = definition.gvr(version.name)
        self.api_version = self.gvk.api_version
        self.kind = self.gvk.kind

    @cached_property
    def schema(self) -> "CompiledSchema":
        """Pruning, defaulting and validation, loaded with the first custom object."""
        from inkube.schemas.structural.compiled import CompiledSchema

        return CompiledSchema(self.version.schema)

    @cached_property
    def rules(self) -> "RuleSet | None":
        """The schema's CEL rules, None without any; the engine is loaded when one is needed."""
        if not self.schema.node.holds("x-kubernetes-validations"):
            return None
        from inkube.schemas.cel.rules.evaluation import RuleSet

        return RuleSet(self.version.schema)

    @cached_property
    def typed(self) -> TypedSchema:
        """How fields merge and who may own them."""
        if self.definition.origin is not Origin.BUILTIN:
            return TypedSchema(self.version.schema)
        empty = decoding.empty(self.gvk)
        return TypedSchema(self.version.schema, custom=False, empty=empty)


@cache
def _builtin(definition: Definition, version: Version) -> Served:
    """One for all servers of the process: they come and go with tests, what is compiled stays."""
    return Served(definition, version)


def _served(definition: Definition, version: Version) -> Served:
    if definition.origin is Origin.BUILTIN:
        return _builtin(definition, version)
    return Served(definition, version)


class Resource:
    """A kind as it is served now; what was stored after `since` fits its schema.

    With `stored_as` its objects are those of another resource, in other words.
    """

    def __init__(
        self,
        definition: Definition,
        make_strategy: Callable[[], "Strategy"],
        *,
        stored_as: "Resource | None" = None,
        since: int = 0,
    ) -> None:
        self.definition = definition
        self._make_strategy = make_strategy
        self.group = definition.group
        self.plural = definition.names.plural
        self.kind = definition.names.kind
        self.namespaced = definition.namespaced
        self.builtin = definition.origin is Origin.BUILTIN
        self.since = since
        self.versions = {
            version.name: _served(definition, version) for version in definition.versions
        }
        own = self.versions[definition.storage_version.name]
        self.storage: Served = own if stored_as is None else stored_as.storage
        self.prefix: str = _prefix(definition) if stored_as is None else stored_as.prefix
        self.field_versions: Versions | None = None
        """How `ownership` reads managedFields of other versions; made on first use."""
        self.plugins: dict[tuple[str, str], tuple[Plugin, ...]] = {}
        """The admission plugins that have to do with it, by hook and operation."""
        self._renewed: dict[str, tuple[Entry, Object | None]] = {}
        """What was stored before `since`, and what it is today where that differs."""

    @cached_property
    def strategy(self) -> "Strategy":
        """What the kind does differently; made, and what it needs imported, on first use."""
        return self._make_strategy()

    def served(self, version: str) -> Served | None:
        """That version, if clients may use it."""
        found = self.versions.get(version)
        return found if found is not None and found.version.served else None

    def key(self, namespace: str, name: str) -> str:
        """Where an object is stored; `name` "" gives the prefix of a namespace."""
        return f"{self.prefix}{namespace}/{name}" if namespace else f"{self.prefix}{name}"

    def current(self, entry: Entry) -> Object:
        """The stored object under today's schema: defaults on read. Shared; do not change it."""
        if self.is_current(entry):
            return entry.value
        fresh = self._renewed[entry.key][1]
        assert fresh is not None, "only what is not current was renewed"
        return fresh

    def view(self, entry: Entry, served: Served) -> Object:
        """The stored object as a version shows it. Shared; do not change it."""
        current = self.current(entry)
        if served is self.storage:
            return current
        return self.strategy.from_storage(current, served)

    def is_current(self, entry: Entry) -> bool:
        """Whether the stored bytes are what a reader of the storage version gets.

        Decodes nothing that was stored under today's schema or looked at before.
        """
        if not entry.revision or entry.revision > self.since:
            return True
        known = self._renewed.get(entry.key)
        # by identity: what a dry run would store has the revision of what is stored
        if known is None or known[0] is not entry:
            fresh = self.strategy.renew(self, entry)
            known = (entry, None if fresh is entry.value else fresh)
            self._renewed[entry.key] = known
        return known[1] is None


def _prefix(definition: Definition) -> str:
    group = "" if definition.origin is Origin.BUILTIN else definition.group
    return keys.prefix(definition.names.plural, group)


class Resources:
    """Every served resource, by group and plural. `revision` changes with every change."""

    def __init__(self) -> None:
        self._table: dict[tuple[str, str], Resource] = {}
        self._kinds: dict[tuple[str, str], Resource] = {}
        self._deferred: frozenset[str] = frozenset()
        self._load: Callable[[], object] | None = None
        self._listeners: list[Callable[[], None]] = []
        self.revision = 0

    def subscribe(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Call it after every change of the table; what is returned ends that."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def defer(self, groups: Iterable[str], load: Callable[[], object]) -> None:
        """Let `load` install these groups when one of them, or all there are, is asked for."""
        self._deferred, self._load = frozenset(groups), load

    def load(self) -> None:
        """Install what was deferred."""
        load, self._load = self._load, None
        self._deferred = frozenset()
        if load is not None:
            load()

    def install(self, *resources: Resource) -> None:
        """Serve them from now on, instead of those of the same group and plural."""
        replaces = any((r.group, r.plural) in self._table for r in resources)
        for resource in resources:
            self._table[resource.group, resource.plural] = resource
            self._kinds[resource.group, resource.kind] = resource
        if replaces:  # a kind that was served may be gone; what is new takes no look at all kinds
            self._collect_kinds()
        self._changed()

    def uninstall(self, group: str, plural: str) -> None:
        """Serve it no longer; unknown ones are no error."""
        self._table.pop((group, plural), None)
        self._collect_kinds()
        self._changed()

    def _collect_kinds(self) -> None:
        self._kinds = {(r.group, r.kind): r for r in self._table.values()}

    def _changed(self) -> None:
        self.revision += 1
        for listener in tuple(self._listeners):
            listener()

    def get(self, group: str, plural: str) -> Resource | None:
        """The resource of that group and plural."""
        if group in self._deferred:
            self.load()
        return self._table.get((group, plural))

    def by_kind(self, group: str, kind: str) -> Resource | None:
        """The resource that serves a kind."""
        if group in self._deferred:
            self.load()
        return self._kinds.get((group, kind))

    def __iter__(self) -> Iterator[Resource]:
        self.load()
        return iter(tuple(self._table.values()))

    def group(self, name: str) -> list[Resource]:
        """Every resource of one group."""
        if name in self._deferred:
            self.load()
        return [resource for resource in self._table.values() if resource.group == name]

    def serves(self, group: str, version: str) -> bool:
        """Whether any resource has that version."""
        return any(resource.served(version) for resource in self.group(group))

    def is_builtin_group(self, group: str) -> bool:
        """Whether the group is compiled in: its unknown paths answer a Status."""
        return any(resource.builtin for resource in self.group(group))
