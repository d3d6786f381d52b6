"""Every overload behaves as its declaration says, for all kinds of arguments."""

import itertools
import random
from typing import Any

import pytest

from inkube.schemas.cel import library
from inkube.schemas.cel.declarations import types, values
from inkube.schemas.cel.declarations.estimates import TOP, UNKNOWN, Argument, CallEstimate, Range
from inkube.schemas.cel.declarations.functions import CostExceededError, EvalError, Overload
from inkube.schemas.cel.declarations.types import Kind, Type
from inkube.schemas.cel.declarations.values import Duration, Optional, Timestamp, Uint
from inkube.schemas.cel.library import cidr, ip, named_formats, quantity, semver, url

INTS = [0, 1, -1, 2, 5, 100, 2**63 - 1, -(2**63)]
TEXTS = [
    "", "a", "äb 😀", "%s %d %.3f", "[a-z]+", "(a", "12", "-1.5e3", "true", "1h", "a,b", "uuid",
    "2024-01-01T00:00:00Z", "10.0.0.1", "10.0.0.0/8", "::1", "https://a.b/c?d=e", "1Gi", "v1.2",
    "1.2.3-rc.1", "UTC", "+01:30", "x" * 5000, "%", "%.", "%.99999999999f", "/",
    "9" * 5000, "1e2000000000",
]  # fmt: skip
SCALARS: dict[Type, list[Any]] = {
    types.BOOL: [True, False],
    types.INT: INTS,
    types.UINT: [Uint(0), Uint(7), Uint(2**64 - 1)],
    types.DOUBLE: [0.0, -0.0, 1.5, 1e300, float("inf"), float("nan")],
    types.STRING: TEXTS,
    types.BYTES: [b"", b"ab", b"\xff\xfe"],
    types.TIMESTAMP: [
        Timestamp(0),
        Timestamp(-62135596800 * 10**9),
        Timestamp(253402300799 * 10**9),
    ],
    types.DURATION: [Duration(0), Duration(-(2**63)), Duration(90 * 10**9)],
    types.QUANTITY: [quantity.parse(text) for text in ("1", "1.5Gi", "-1e2000000000", "1n")],
    types.IP: [ip.parse("::1"), ip.parse("10.0.0.1")],
    types.CIDR: [cidr.parse("::/0"), cidr.parse("10.0.0.0/8")],
    types.URL: [url.parse("https://u@[::1]:1/%ff?a=%zz&b;c&=x#f"), url.parse("/")],
    types.SEMVER: [semver.parse("18446744073709551615.0.0"), semver.parse("1.2.3-a.1+b")],
    types.FORMAT: [named_formats.named(name).value for name in ("dns1123Label", "uri", "datetime")],
}


def samples(type: Type) -> list[Any]:
    """Return values of a type; for dyn and type parameters, values of several types."""
    if type in SCALARS:
        return SCALARS[type]
    if type.kind is Kind.LIST:
        items = samples(type.params[0])
        return [[], items[:1], items[:3], items[::-1][:4]]
    if type.kind is Kind.MAP:
        return [{}, {"a": 1}]
    return [None, 1, "a", [1, "b"], {"a": [None]}, 1.5, Optional(1)]


def called(overload: Overload) -> list[tuple[tuple[Any, ...], Any]]:
    """Return arguments and results of calls that succeed; fails on any unexpected error."""
    found = []
    choices = list(itertools.product(*map(samples, overload.params)))
    random.Random(overload.id).shuffle(choices)
    for arguments in choices[:200]:
        try:
            found.append((arguments, overload.impl(*arguments)))
        except (EvalError, CostExceededError):
            assert overload.fails, arguments
    return found


@pytest.mark.parametrize("overload", library.OVERLOADS, ids=lambda overload: overload.id)
def test_results_and_costs_are_of_the_declared_kind(overload: Overload):
    for arguments, result in called(overload):
        if overload.result.kind not in (Kind.PARAM, Kind.DYN, Kind.TYPE):
            assert values.type_of(result).name == overload.result.name
        cost = overload.cost if isinstance(overload.cost, int) else overload.cost(arguments, result)
        assert 0 <= cost <= TOP


@pytest.mark.parametrize("overload", library.OVERLOADS, ids=lambda overload: overload.id)
def test_estimates_are_ranges(overload: Overload):
    if overload.estimate is None:
        return
    for size in (UNKNOWN, Range(0, 0), Range(3, 50)):
        arguments = tuple(Argument(kind, size) for kind in overload.params)
        found = overload.estimate(arguments)
        assert isinstance(found, CallEstimate)
        assert 0 <= found.cost.min <= found.cost.max <= TOP


def test_ids_are_unique():
    ids = [overload.id for overload in library.OVERLOADS]
    assert len(ids) == len(set(ids))
