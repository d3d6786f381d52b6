"""Assignability of types, which also binds type parameters.

Follows cel-go checker/types.go and checker/mapping.go.
"""

from inkube.schemas.cel.declarations.types import DYN, Kind, Type

_NULLABLE = frozenset({Kind.OPAQUE, Kind.DURATION, Kind.TIMESTAMP, Kind.OBJECT, Kind.NULL})
_COMPOSED = frozenset({Kind.OPAQUE, Kind.LIST, Kind.MAP})


class Bindings:
    """The types to which type parameters are bound so far."""

    def __init__(self, bound: dict[str, Type] | None = None) -> None:
        self._bound = {} if bound is None else bound
        self._fresh = 0

    def fresh(self) -> Type:
        """Return a new type parameter."""
        self._fresh += 1
        return Type(Kind.PARAM, f"_var{self._fresh}")

    def assign(self, sources: tuple[Type, ...], targets: tuple[Type, ...]) -> bool:
        """Return whether each source is assignable to its target; binds parameters only if all
        are."""
        if len(sources) != len(targets):
            return False
        trial = Bindings(dict(self._bound))
        if all(map(trial._fits, sources, targets)):
            self._bound = trial._bound
            return True
        return False

    def resolve(self, type: Type, to_dyn: bool = False) -> Type:
        """Return the type with bound parameters replaced; the others become dyn on request."""
        if type.kind is Kind.PARAM:
            substitution = self._bound.get(type.name)
            if substitution is not None:
                return self.resolve(substitution, to_dyn)
            return DYN if to_dyn else type
        if not type.params:
            return type
        return Type(type.kind, type.name, tuple(self.resolve(p, to_dyn) for p in type.params))

    def _fits(self, first: Type, second: Type) -> bool:
        if second.kind is Kind.PARAM:
            valid, bound = self._substitutes(first, second)
            if valid or bound:
                return valid
        if first.kind is Kind.PARAM:
            return self._substitutes(second, first)[0]
        if first.is_dyn or second.is_dyn:
            return True
        if first.kind is Kind.NULL:
            return second.kind in _NULLABLE
        if second.kind is Kind.NULL:
            return first.kind in _NULLABLE
        if first.kind is Kind.TYPE:
            return second.kind is Kind.TYPE
        if first.kind in _COMPOSED:
            same = first.kind is second.kind and first.name == second.name
            return same and self._all_fit(first.params, second.params)
        return first == second

    def _all_fit(self, ones: tuple[Type, ...], twos: tuple[Type, ...]) -> bool:
        return len(ones) == len(twos) and all(map(self._fits, ones, twos))

    def _substitutes(self, type: Type, parameter: Type) -> tuple[bool, bool]:
        """Return whether `type` can replace the parameter, and whether the parameter was bound
        before."""
        if type == parameter:
            return True, True
        bound = self._bound.get(parameter.name)
        if bound is None:
            if self._mentions(type, parameter):
                return False, False
            self._bound[parameter.name] = type
            return True, False
        if type == bound:
            return True, True
        if not self._fits(type, bound):
            return False, True
        wider = most_general(type, bound)
        if not self._mentions(wider, parameter):
            self._bound[parameter.name] = wider
        return True, True

    def _mentions(self, type: Type, parameter: Type) -> bool:
        if type == parameter:
            return True
        if type.kind is Kind.PARAM:
            bound = self._bound.get(type.name)
            return bound is not None and self._mentions(bound, parameter)
        return any(self._mentions(part, parameter) for part in type.params)


def most_general(first: Type, second: Type) -> Type:
    """Return the less specific of two types that fit each other."""
    return first if _is_no_more_specific(first, second) else second


def _is_no_more_specific(first: Type, second: Type) -> bool:
    if first.is_dyn or first.kind is Kind.PARAM:
        return True
    if second.is_dyn or second.kind is Kind.PARAM or first.kind is not second.kind:
        return False
    if first.kind is Kind.TYPE:
        return True
    if first.kind in _COMPOSED:
        same = first.name == second.name and len(first.params) == len(second.params)
        return same and all(map(_is_no_more_specific, first.params, second.params))
    return first == second
