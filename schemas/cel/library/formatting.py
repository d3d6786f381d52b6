"""`'%s is %d'.format([…])`: values as text, in kube-apiserver's locale (American English).

Upstream: cel-go ext/formatting.go, golang.org/x/text/message for %f and %e. Errors have cel-go's
texts. `check` validates a literal template with a literal list of arguments at compile time.
"""

import math
import re
from collections.abc import Callable, Sequence
from typing import Any, Final

from inkube.schemas.cel.declarations import values
from inkube.schemas.cel.declarations.functions import EvalError
from inkube.schemas.cel.declarations.types import Kind, Type
from inkube.schemas.cel.declarations.values import Uint
from inkube.schemas.cel.library import conversions
from inkube.schemas.golang import gofloats, gotext, strconv

_PRECISION: Final = 6
_PRECISION_MAX: Final = 1_000
"""More digits than any double has. Upstream prints any requested number of digits."""
_CLAUSE: Final = re.compile(r"(\.([0-9]*))?(.?)", re.ASCII | re.DOTALL)
_SUPERSCRIPT: Final = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")
_INTEGERS: Final = frozenset({Kind.INT, Kind.UINT})
_NUMBER_WORDS: Final = frozenset({"NaN", "Infinity", "-Infinity"})
_REFUSALS: Final = {
    "s": "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, "
    "types, durations, and timestamps, was given {}",
    "d": "decimal clause can only be used on integers, was given {}",
    "f": "fixed-point clause can only be used on doubles, was given {}",
    "e": "scientific clause can only be used on doubles, was given {}",
    "b": "only integers and bools can be formatted as binary, was given {}",
    "x": "only integers, byte buffers, and strings can be formatted as hex, was given {}",
    "X": "only integers, byte buffers, and strings can be formatted as hex, was given {}",
    "o": "octal clause can only be used on integers, was given {}",
}
_ACCEPTED: Final[dict[str, frozenset[Kind]]] = {
    "s": frozenset(
        {
            Kind.LIST, Kind.MAP, Kind.INT, Kind.UINT, Kind.DOUBLE, Kind.BOOL, Kind.STRING,
            Kind.TIMESTAMP, Kind.BYTES, Kind.DURATION, Kind.TYPE, Kind.NULL,
        }
    ),
    "d": _INTEGERS,
    "f": frozenset({Kind.DOUBLE, Kind.STRING}),
    "e": frozenset({Kind.DOUBLE, Kind.STRING}),
    "b": _INTEGERS | {Kind.BOOL},
    "x": _INTEGERS | {Kind.STRING, Kind.BYTES},
    "X": _INTEGERS | {Kind.STRING, Kind.BYTES},
    "o": _INTEGERS,
}  # fmt: skip


def format(template: str, arguments: Sequence[Any]) -> str:  # noqa: A001 - formatting.format
    """Return the template with each clause replaced by its argument. Raises EvalError."""

    def show(index: int, verb: str, precision: int) -> str:
        return _clause(verb, precision)(arguments[index])

    return _expand(template, len(arguments), show)


def check(template: str, count: int, refuse: Callable[[int, str], str | None]) -> str | None:
    """Return the error of a literal template with this number of arguments, or None.

    `refuse(place, verb)` tells why an argument does not suit its clause.
    """
    seen = 0

    def show(index: int, verb: str, _: int) -> str:
        nonlocal seen
        seen = index + 1
        fault = refuse(index, verb)
        if fault is not None:
            raise EvalError(fault)
        return ""

    try:
        _expand(template, count, show)
    except EvalError as error:
        return str(error)
    if count > seen:
        return f"too many arguments supplied to string.format (expected {seen}, got {count})"
    return None


def accepts(verb: str, type: Type) -> bool:
    """Return whether a clause accepts arguments of the type; dyn is checked at run time."""
    return type.is_dyn or type.kind in _ACCEPTED[verb]


def refusal(verb: str, type_name: str) -> str:
    """Return the error of a clause that does not accept its argument."""
    return _REFUSALS[verb].format(type_name)


def _expand(template: str, count: int, show: Callable[[int, str, int], str]) -> str:
    """Return the template with clauses shown by `show(place, verb, precision)`."""
    parts: list[str] = []
    position = place = 0
    while True:
        percent = template.find("%", position)
        if percent < 0:
            return "".join([*parts, template[position:]])
        parts.append(template[position:percent])
        if template[percent + 1 : percent + 2] == "%":
            parts.append("%")
            position = percent + 2
            continue
        if place >= count:
            raise EvalError(f"index {place} out of range")
        verb, precision, position = _parse_clause(template, percent + 1)
        try:
            parts.append(show(place, verb, precision))
        except EvalError as error:
            raise EvalError(f"error during formatting: {error}") from None
        place += 1


def _parse_clause(template: str, start: int) -> tuple[str, int, int]:
    """Return verb, precision (6 by default) and the position after the clause."""
    if start >= len(template):
        raise EvalError("unexpected end of string")
    clause = _CLAUSE.match(template, start)
    assert clause is not None
    failed = "could not parse formatting clause: "
    try:
        precision = _precision(clause)
    except EvalError as error:
        raise EvalError(f"{failed}{error}") from None
    if clause[3] not in _REFUSALS:
        raise EvalError(f'{failed}unrecognized formatting clause "{clause[3]}"')
    return clause[3], precision, clause.end()


def _precision(clause: re.Match[str]) -> int:
    if clause[1] is None:
        return _PRECISION
    if not clause[3]:
        raise EvalError("error while parsing precision: could not find end of precision specifier")
    try:
        return min(strconv.atoi(clause[2]), _PRECISION_MAX)
    except ValueError as error:
        raise EvalError(
            f"error while parsing precision: error while converting precision to integer: {error}"
        ) from None


def _clause(verb: str, precision: int) -> Callable[[Any], str]:
    if verb == "f":
        return lambda value: _fixed(_double("f", value), precision)
    if verb == "e":
        return lambda value: _scientific(_double("e", value), precision)
    return _VERBS[verb]


def _refused(verb: str, value: Any) -> EvalError:
    return EvalError(refusal(verb, values.type_of(value).name))


def _string(value: Any) -> str:
    """%s."""
    if isinstance(value, str):
        return value
    if value is None:
        return "null"
    if isinstance(value, list | tuple):
        return _list(value)
    if isinstance(value, dict):
        return _map(value)
    if values.type_of(value).kind not in _ACCEPTED["s"]:
        raise _refused("s", value)
    return conversions.to_string(value)


def _integer(verb: str, value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise _refused(verb, value)
    return int(value)


def _decimal(value: Any) -> str:
    return str(_integer("d", value))


def _octal(value: Any) -> str:
    return f"{_integer('o', value):o}"


def _binary(value: Any) -> str:
    if isinstance(value, bool):
        return "1" if value else "0"
    return f"{_integer('b', value):b}"


def _hexadecimal(value: Any) -> str:
    if isinstance(value, str):
        return value.encode().hex()
    if isinstance(value, bytes):
        return value.hex()
    return f"{_integer('x', value):x}"


def _upper_hexadecimal(value: Any) -> str:
    return _hexadecimal(value).upper()


_VERBS: Final[dict[str, Callable[[Any], str]]] = {
    "s": _string,
    "d": _decimal,
    "o": _octal,
    "b": _binary,
    "x": _hexadecimal,
    "X": _upper_hexadecimal,
}


def _double(verb: str, value: Any) -> float:
    if isinstance(value, float):
        return value
    if isinstance(value, str) and value in _NUMBER_WORDS:
        return float(value)
    raise _refused(verb, value)


def _fixed(value: float, precision: int) -> str:
    """%f, with a comma between thousands."""
    return _unusual(value) or f"{value:,.{precision}f}"


def _scientific(value: float, precision: int) -> str:
    """%e, as `1.200000×10⁰³`."""
    unusual = _unusual(value)
    if unusual:
        return unusual
    digits, _, exponent = f"{value:.{precision}e}".partition("e")
    return f"{digits}×10{exponent.removeprefix('+').translate(_SUPERSCRIPT)}"


def _unusual(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "∞" if value > 0 else "-∞"
    return ""


def _list(items: Sequence[Any]) -> str:
    return f"[{', '.join(map(_literal, items))}]"


def _map(mapping: dict[Any, Any]) -> str:
    pairs = sorted((_key(key), _literal(value)) for key, value in mapping.items())
    return "{" + ", ".join(f"{key}:{value}" for key, value in pairs) + "}"


def _key(key: Any) -> str:
    if isinstance(key, str | bool | int):
        return _literal(key)
    raise EvalError(f"no formatting function for map key of type {values.type_of(key).name}")


def _literal(value: Any) -> str:
    """Return a value inside a list or map: close to how it is written in CEL."""
    if isinstance(value, str):
        return gotext.quote(value)
    if isinstance(value, Uint):
        return str(int(value))
    if isinstance(value, float):
        return f"{value:.6f}" if math.isfinite(value) else gotext.quote(_go_float(value))
    if isinstance(value, bytes):
        return f"b{gotext.quote(_string(value))}"
    if isinstance(value, values.Timestamp):
        return f"timestamp({gotext.quote(_string(value))})"
    if isinstance(value, values.Duration):
        return f"duration({gotext.quote(_string(value))})"
    if values.type_of(value).kind not in _ACCEPTED["s"]:
        raise EvalError(f"no formatting function for {values.type_of(value).name}")
    return _string(value)


def _go_float(value: float) -> str:
    return gofloats.format_general(value)
