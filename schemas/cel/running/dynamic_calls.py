"""Calls whose overload is only known at run time, because an argument is dyn."""

from collections.abc import Callable
from typing import Any

from inkube.schemas.cel.declarations.functions import Overload
from inkube.schemas.cel.declarations.types import Kind, Type
from inkube.schemas.cel.declarations.values import Duration, Optional, Timestamp, Uint
from inkube.schemas.cel.running.operators import no_overload

_CLASSES: dict[Kind, tuple[type, ...]] = {
    Kind.BOOL: (bool,),
    Kind.UINT: (Uint,),
    Kind.DOUBLE: (float,),
    Kind.STRING: (str,),
    Kind.BYTES: (bytes,),
    Kind.NULL: (type(None),),
    Kind.LIST: (list, tuple),
    Kind.MAP: (dict,),
    Kind.OBJECT: (dict,),
    Kind.TIMESTAMP: (Timestamp,),
    Kind.DURATION: (Duration,),
    Kind.TYPE: (Type,),
}


def matches(type: Type, value: Any) -> bool:
    """Return whether a value fits the type of an argument. As upstream, of the elements of a
    container only the first is checked (defaultIsAssignableRuntimeType)."""
    classes = _CLASSES.get(type.kind)
    if classes is not None:
        return isinstance(value, classes) and _has_fitting_elements(type, value)
    if type.kind is Kind.INT:
        return isinstance(value, int) and not isinstance(value, bool | Uint)
    if type.kind is not Kind.OPAQUE:
        return True
    if type.name == "optional_type":
        return isinstance(value, Optional)
    cel_type = getattr(value, "cel_type", None)
    return isinstance(cel_type, Type) and cel_type.name == type.name


def _has_fitting_elements(type: Type, value: Any) -> bool:
    if not value:
        return True
    if type.kind is Kind.LIST:
        return matches(type.params[0], value[0])
    if type.kind is Kind.MAP:
        key, element = next(iter(value.items()))
        return matches(type.params[0], key) and matches(type.params[1], element)
    return True


def cost_of(overload: Overload, args: tuple[Any, ...], result: Any) -> int:
    """Return the cost of a call."""
    return overload.cost if isinstance(overload.cost, int) else overload.cost(args, result)


def dispatcher(overloads: tuple[Overload, ...]) -> Callable[..., tuple[Any, int]]:
    """Return a function that calls the first fitting overload; returns result and cost."""

    def call(*args: Any) -> tuple[Any, int]:
        for overload in overloads:
            if all(map(matches, overload.params, args)):
                result = overload.impl(*args)
                return result, cost_of(overload, args, result)
        raise no_overload(overloads[0].function, *args)

    return call
