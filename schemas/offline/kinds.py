"""The kinds that objects are checked against: of a minor of Kubernetes, of CRDs, of modules."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Protocol

from inkube.schemas import builtin, crds, releases
from inkube.schemas.definitions import Definition, Names, Version
from inkube.schemas.meta import GVK
from inkube.schemas.objects import Object
from inkube.schemas.offline.foreign import ForeignKind
from inkube.schemas.served import Served
from inkube.schemas.strategy import Strategy

GroupKind = tuple[str, str]
_MOST = 8
"""The largest number of definitions of one kind."""
CRD: GroupKind = ("apiextensions.k8s.io", "CustomResourceDefinition")


class Declared(Protocol):
    """A kind declared in Python: the parts that a server uses for a write, without live checks."""

    @property
    def definition(self) -> Definition:
        """The definition of the kind."""
        ...

    def strategy(self) -> Strategy:
        """Return the strategy of the kind."""
        ...

    def mutate(self, obj: Object, old: Object | None) -> Object:
        """Normalise in place."""
        ...


@dataclass(frozen=True, slots=True)
class Checked:
    """A version of a kind with what checks its objects."""

    served: Served
    strategy: Strategy
    mutate: Callable[[Object, Object | None], Object] | None = None

    @property
    def definition(self) -> Definition:
        """The definition of the kind."""
        return self.served.definition

    @property
    def is_crd(self) -> bool:
        """Whether it is the kind of definitions."""
        return (self.served.gvk.group, self.served.gvk.kind) == CRD


@dataclass(slots=True)
class Kinds:
    """The kinds of a minor of Kubernetes, and those that were added to them."""

    minor: int = releases.NEWEST.minor
    of_kubernetes: dict[GroupKind, Definition] = field(default_factory=dict)
    defined: dict[GroupKind, list[Definition]] = field(default_factory=dict)
    """The definitions of kinds in CRDs. A repository can have an old and a new one of a kind."""
    declared_groups: frozenset[str] = frozenset()
    """Groups of kinds declared in Python; `declare` is called for the objects of these groups."""
    declare: Callable[[], Iterable[Declared]] = tuple
    foreign: dict[tuple[str, str, str], ForeignKind] = field(default_factory=dict)
    """Kinds of schemas in other notations, by group, version and the kind in lower case."""
    _declared: dict[GroupKind, Declared] = field(default_factory=dict)
    _checked: dict[GVK, list[Checked]] = field(default_factory=dict)

    @classmethod
    def of_minor(cls, minor: int = releases.NEWEST.minor) -> "Kinds":
        """Return the built-in kinds of a minor of Kubernetes."""
        found = builtin.definitions(minor)
        return cls(minor, {(each.group, each.names.kind): each for each in found})

    def add(self, definition: Definition) -> None:
        """Add a definition of a kind, the newest first; the oldest of too many is dropped."""
        known = self.defined.setdefault((definition.group, definition.names.kind), [])
        if definition not in known:
            known.insert(0, definition)
            del known[_MOST:]
            self._checked.clear()

    def known(self) -> list[Definition]:
        """Return all kinds that are known by now."""
        own = (each.definition for each in self._declared.values())
        defined = (each for several in self.defined.values() for each in several)
        return [*self.of_kubernetes.values(), *defined, *own]

    def find(self, gvk: GVK) -> list[Checked]:
        """Return the definitions of a version of a kind: none if it is not known, several if CRDs
        differ."""
        if gvk not in self._checked:
            self._checked[gvk] = list(self._find(gvk))
        return self._checked[gvk]

    def _find(self, gvk: GVK) -> Iterator[Checked]:
        key = (gvk.group, gvk.kind)
        if key in self.defined:
            for definition in self.defined[key]:
                yield from self._of(definition, gvk, crds.CustomServed, crds.CustomStrategy)
            return
        own = self._declared_kind(key)
        if own is not None:
            yield from self._of(own.definition, gvk, crds.CustomServed, own.strategy, own.mutate)
            return
        found = self.of_kubernetes.get(key)
        if found is not None and found.version(gvk.version) is not None:
            group, plural = found.group, found.names.plural
            yield from self._of(
                found,
                gvk,
                builtin.served.of,
                lambda: builtin.strategy_of(group, plural, self.minor),
            )
            return
        schema = self.foreign.get((gvk.group, gvk.version, gvk.kind.lower()))
        if schema is not None:
            found = _definition(gvk, schema, self.minor)
            yield from self._of(found, gvk, crds.CustomServed, crds.CustomStrategy)

    def _of(
        self,
        definition: Definition,
        gvk: GVK,
        serve: Callable[[Definition, Version], Served],
        make_strategy: Callable[[], Strategy],
        mutate: Callable[[Object, Object | None], Object] | None = None,
    ) -> Iterator[Checked]:
        version = definition.version(gvk.version)
        if version is not None:
            yield Checked(serve(definition, version), make_strategy(), mutate)

    def _declared_kind(self, key: GroupKind) -> Declared | None:
        if key[0] not in self.declared_groups:
            return None
        if not self._declared:
            for each in self.declare():
                self._declared[each.definition.group, each.definition.names.kind] = each
        return self._declared.get(key)


def _definition(gvk: GVK, foreign_kind: ForeignKind, minor: int) -> Definition:
    """Return the definition of a kind with a schema alone. Its scope is not known, so both are
    right."""
    names = Names(plural=f"{gvk.kind.lower()}s", kind=gvk.kind)
    return Definition(gvk.group, names, (Version(gvk.version, foreign_kind.schema),), minor=minor)
