"""The kinds that objects are checked against: of a minor of Kubernetes, of CRDs, of modules."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Protocol

from inkube.schemas import builtin, crds, releases
from inkube.schemas.builtin import strategies
from inkube.schemas.definitions import Definition, Names, Version
from inkube.schemas.meta import GVK
from inkube.schemas.objects import Object
from inkube.schemas.offline.foreign import ForeignKind
from inkube.schemas.served import Served
from inkube.schemas.strategy import Strategy

GroupKind = tuple[str, str]
CRD: GroupKind = ("apiextensions.k8s.io", "CustomResourceDefinition")


class Declared(Protocol):
    """A kind declared in Python: the parts that a server uses for a write, without live checks."""

    @property
    def definition(self) -> Definition:
        """The definition of the kind."""
        ...

    def strategy(self) -> Strategy:
        """The strategy of the kind."""
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
    defined: dict[GroupKind, Definition] = field(default_factory=dict)
    """Kinds of CRDs, schemas and other sources."""
    declared_groups: frozenset[str] = frozenset()
    """Groups of kinds declared in Python; `declare` is called for the objects of these groups."""
    declare: Callable[[], Iterable[Declared]] = tuple
    foreign: dict[tuple[str, str, str], ForeignKind] = field(default_factory=dict)
    """Kinds of schemas in other notations, by group, version and the kind in lower case."""
    _declared: dict[GroupKind, Declared] = field(default_factory=dict)
    _checked: dict[GVK, Checked | None] = field(default_factory=dict)

    @classmethod
    def of_minor(cls, minor: int = releases.NEWEST.minor) -> "Kinds":
        """The built-in kinds of a minor of Kubernetes."""
        found = builtin.definitions(minor)
        return cls(minor, {(each.group, each.names.kind): each for each in found})

    def add(self, definition: Definition) -> None:
        """Add a kind. It replaces an earlier one with the same group and kind."""
        self.defined[definition.group, definition.names.kind] = definition
        self._checked.clear()

    def known(self) -> list[Definition]:
        """All kinds that are known by now."""
        own = (each.definition for each in self._declared.values())
        return [*self.of_kubernetes.values(), *self.defined.values(), *own]

    def find(self, gvk: GVK) -> Checked | None:
        """The version of a kind, None if it is not known."""
        if gvk not in self._checked:
            self._checked[gvk] = self._find(gvk)
        return self._checked[gvk]

    def _find(self, gvk: GVK) -> Checked | None:
        key = (gvk.group, gvk.kind)
        if key in self.defined:
            return self._of(self.defined[key], gvk, crds.CustomServed, crds.CustomStrategy)
        own = self._declared_kind(key)
        if own is not None:
            return self._of(own.definition, gvk, crds.CustomServed, own.strategy, own.mutate)
        if key in self.of_kubernetes:
            found = self.of_kubernetes[key]
            checked = self._of(
                found,
                gvk,
                builtin.served.of,
                lambda: strategies.of(found.group, found.names.plural, self.minor),
            )
            if checked is not None:
                return checked
        schema = self.foreign.get((gvk.group, gvk.version, gvk.kind.lower()))
        if schema is not None:
            found = _definition(gvk, schema, self.minor)
            return self._of(found, gvk, crds.CustomServed, crds.CustomStrategy)
        return None

    def _of(
        self,
        definition: Definition,
        gvk: GVK,
        serve: Callable[[Definition, Version], Served],
        make_strategy: Callable[[], Strategy],
        mutate: Callable[[Object, Object | None], Object] | None = None,
    ) -> Checked | None:
        version = definition.version(gvk.version)
        if version is None:
            return None
        return Checked(serve(definition, version), make_strategy(), mutate)

    def _declared_kind(self, key: GroupKind) -> Declared | None:
        if key[0] not in self.declared_groups:
            return None
        if not self._declared:
            for each in self.declare():
                self._declared[each.definition.group, each.definition.names.kind] = each
        return self._declared.get(key)


def _definition(gvk: GVK, found: ForeignKind, minor: int) -> Definition:
    """The definition of a kind with a schema alone. Its scope is not known, so both are right."""
    names = Names(plural=f"{gvk.kind.lower()}s", kind=gvk.kind)
    return Definition(gvk.group, names, (Version(gvk.version, found.schema),), minor=minor)
