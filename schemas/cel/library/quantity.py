"""Quantities: quantity, isQuantity, add, sub, compareTo, asInteger, …. As upstream, `sign` is a
function.

Upstream: apiserver pkg/cel/library/quantity.go, pkg/cel/quantity.go.
"""

from collections.abc import Callable
from typing import Any, ClassVar, Final

from inkube.schemas import quantity
from inkube.schemas.cel.declarations import types
from inkube.schemas.cel.declarations.functions import NO_OVERLOAD, EvalError, Impl, Overload
from inkube.schemas.cel.declarations.types import BOOL, DOUBLE, INT, Type
from inkube.schemas.cel.library.overloads import checked, question, reader


class QuantityValue:
    """A quantity in an expression.

    As upstream, `==` with a computed quantity on the right is an error, because upstream has parsed
    quantities by value and computed ones by pointer.
    """

    cel_type: ClassVar[Type] = types.QUANTITY
    __slots__ = ("amount", "is_computed")

    def __init__(self, amount: quantity.Quantity, *, is_computed: bool = False) -> None:
        self.amount = amount
        self.is_computed = is_computed

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, QuantityValue):
            return False
        if other.is_computed:
            raise EvalError(NO_OVERLOAD)
        return self.amount == other.amount

    def __hash__(self) -> int:
        return hash(self.amount)

    def __repr__(self) -> str:
        return f"quantity({str(self.amount)!r})"


def parse(text: str) -> QuantityValue:
    """Return the quantity. Raises EvalError."""
    try:
        return QuantityValue(quantity.parse(text))
    except ValueError as error:
        raise EvalError(str(error)) from None


def _as_integer(value: QuantityValue) -> int:
    number = value.amount.as_int64()
    if number is None:
        raise EvalError("cannot convert value to integer")
    return number


def _computing(
    function: Callable[[quantity.Quantity, quantity.Quantity], quantity.Quantity],
) -> Impl:
    def compute(left: QuantityValue, right: Any) -> QuantityValue:
        amount = right.amount if isinstance(right, QuantityValue) else _of_int(right)
        return QuantityValue(function(left.amount, amount), is_computed=True)

    return checked(compute)


def _of_int(value: int) -> quantity.Quantity:
    return quantity.Quantity(value, 0, quantity.Format.DECIMAL_EXPONENT)


def _compare(left: QuantityValue, right: QuantityValue) -> int:
    return left.amount.compare(right.amount)


def _method(function: str, id: str, others: tuple[Type, ...], result: Type, impl: Impl) -> Overload:
    return Overload(function, id, (types.QUANTITY, *others), result, impl, receiver=True)


_ADD: Final = _computing(quantity.Quantity.add)
_SUBTRACT: Final = _computing(quantity.Quantity.subtract)
_SAME: Final = (types.QUANTITY,)

OVERLOADS: Final[tuple[Overload, ...]] = (
    reader("quantity", "string_to_quantity", types.QUANTITY, parse),
    question("isQuantity", "is_quantity_string", quantity.is_valid),
    Overload(
        "sign",
        "quantity_sign",
        (types.QUANTITY,),
        INT,
        lambda value: value.amount.sign,
        fails=False,
    ),
    _method(
        "isGreaterThan",
        "quantity_is_greater_than",
        _SAME,
        BOOL,
        checked(lambda left, right: _compare(left, right) > 0),
    ),
    _method(
        "isLessThan",
        "quantity_is_less_than",
        _SAME,
        BOOL,
        checked(lambda left, right: _compare(left, right) < 0),
    ),
    _method("compareTo", "quantity_compare_to", _SAME, INT, checked(_compare)),
    _method(
        "asApproximateFloat",
        "quantity_get_float",
        (),
        DOUBLE,
        lambda value: value.amount.as_float(),
    ),
    _method("asInteger", "quantity_get_int", (), INT, _as_integer),
    _method(
        "isInteger",
        "quantity_is_integer",
        (),
        BOOL,
        lambda value: value.amount.as_int64() is not None,
    ),
    _method("add", "quantity_add", _SAME, types.QUANTITY, _ADD),
    _method("add", "quantity_add_int", (INT,), types.QUANTITY, _ADD),
    _method("sub", "quantity_sub", _SAME, types.QUANTITY, _SUBTRACT),
    _method("sub", "quantity_sub_int", (INT,), types.QUANTITY, _SUBTRACT),
)
