"""Random CEL expressions that type-check, from a seed, for the differential and the fuzz test.

`Expressions(seed).of("bool", depth)` returns text with the variables of VALUES. Literals come from
small sets, so that equal values, overflows and missing keys are frequent.
"""

import random
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import pytest

T = TypeVar("T")
VALUES: dict[str, Any] = {
    "i": 7,
    "big": 9223372036854775806,
    "d": 2.5,
    "s": "häß x",
    "e": "",
    "b": True,
    "li": [3, 1, 2, 3],
    "ls": ["b", "a", "", "ab"],
    "ld": [0.5, -1.5],
    "m": {"a": 1, "b": -2},
}
TYPES = {
    "i": "int",
    "big": "int",
    "d": "double",
    "s": "string",
    "e": "string",
    "b": "bool",
    "li": "ints",
    "ls": "strings",
    "ld": "doubles",
    "m": "map",
}
_INTS = ["0", "1", "-1", "2", "3", "7", "10", "-3", "63", "1", "2", "9223372036854775807"]
_DOUBLES = ["0.0", "1.0", "-1.5", "2.5", "1e3", "-1e19", "1e300", "0.1", "123456.75", "1e-7"]
_NUMERALS = ["12", "-7", "+3", "9223372036854775808", "-2.5e3", "x", ".5", "7."]
_STRINGS = ["", "a", "ab", "b", "ä😀", "12", "-4.5", "true", "1h", "x y", "A-b"]
_PATTERNS = ["a", "^a.*b$", "[a-z]+", "(a|b)*", "\\\\d+", "^$", "ä"]
_DURATIONS = ["0s", "1s", "-90m", "1h30m", "1.125s", "125ms", "9000h"]
_TIMES = [
    "2024-05-01T10:00:00Z",
    "1969-12-31T23:59:59.125Z",
    "2024-02-29T00:00:00+02:00",
    "0001-01-01T00:00:00Z",
    "9999-12-31T23:59:59Z",
]
_ZONES = ["UTC", "Asia/Tokyo", "America/New_York", "+05:30", "-02:00"]
_GETTERS = [
    "getFullYear", "getMonth", "getDate", "getDayOfMonth", "getDayOfWeek", "getDayOfYear",
    "getHours", "getMinutes", "getSeconds", "getMilliseconds",
]  # fmt: skip
_LISTS = {"ints": "int", "strings": "string", "doubles": "double"}


class Expressions:
    """A source of expressions; equal seeds give equal ones."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._locals: list[tuple[str, str]] = []
        self._count = 0

    def any(self, depth: int) -> str:
        """Return an expression of some type."""
        return self.of(self._pick(list(self._makers())), depth)

    def of(self, kind: str, depth: int) -> str:
        """Return an expression of the kind: int, string, ints, map, time, …"""
        if depth <= 0 or self._random.random() < 0.1:
            return self._leaf(kind)
        return self._pick(self._makers()[kind])(depth - 1)

    def _pick(self, choices: Sequence[T]) -> T:
        return self._random.choice(choices)

    def _makers(self) -> dict[str, list[Callable[[int], str]]]:
        return {
            "bool": [self._comparison, self._logic, self._question, self._macro, self._membership],
            "int": [self._integer, self._integer, self._measure, self._indexed("ints"), self._part],
            "uint": [lambda depth: self._arithmetic("uint", "+-*/%", depth)],
            "double": [lambda depth: self._arithmetic("double", "+-*/", depth), self._to_double],
            "string": [self._text, self._text, self._to_string, self._indexed("strings")],
            "bytes": [self._bytes],
            "ints": [self._list("ints"), self._mapped("ints"), self._filtered("ints")],
            "strings": [self._list("strings"), self._mapped("strings"), self._pieces],
            "doubles": [self._list("doubles"), self._filtered("doubles")],
            "map": [self._map],
            "time": [self._shifted],
            "span": [self._span],
        }

    def _leaf(self, kind: str) -> str:
        known = [name for name, its in [*TYPES.items(), *self._locals] if its == kind]
        if known and self._random.random() < 0.5:
            return self._pick(known)
        return self._literal(kind)

    def _literal(self, kind: str) -> str:
        match kind:
            case "bool":
                return self._pick(["true", "false"])
            case "int":
                return self._pick(_INTS)
            case "uint":
                return self._pick(["0u", "1u", "7u", "9u", "2u", "18446744073709551615u"])
            case "double":
                return self._pick(_DOUBLES)
            case "string":
                return f"'{self._pick(_STRINGS)}'"
            case "bytes":
                return f"b'{self._pick(_STRINGS)}'"
            case "time":
                return f"timestamp('{self._pick(_TIMES)}')"
            case "span":
                return f"duration('{self._pick(_DURATIONS)}')"
            case "map":
                return self._pick(["{'a': 1}", "{'b': 2, 'a': 1}", "{'': 0}"])
        items = [self._literal(_LISTS[kind]) for _ in range(self._random.randint(1, 3))]
        return f"[{', '.join(items)}]"

    def _comparison(self, depth: int) -> str:
        kind = self._pick(["int", "uint", "double", "string", "bytes", "time", "span", "bool"])
        operator = self._pick(["==", "!=", "<", "<=", ">", ">="])
        if self._random.random() < 0.2:
            kind, operator = self._pick(["ints", "strings", "doubles", "map"]), operator[:1] + "="
            operator = "==" if operator not in ("==", "!=") else operator
        return f"({self.of(kind, depth)} {operator} {self.of(kind, depth)})"

    def _logic(self, depth: int) -> str:
        if self._random.random() < 0.2:
            return f"!{self.of('bool', depth)}"
        return f"({self.of('bool', depth)} {self._pick(['&&', '||'])} {self.of('bool', depth)})"

    def _question(self, depth: int) -> str:
        text = self.of("string", depth)
        match self._random.randrange(5):
            case 0:
                return f"{text}.contains({self.of('string', depth)})"
            case 1:
                return f"{text}.startsWith({self.of('string', depth)})"
            case 2:
                return f"{text}.endsWith({self.of('string', depth)})"
            case 3:
                return f"{text}.matches('{self._pick(_PATTERNS)}')"
        return f"({self.of('bool', depth)} ? {self.of('bool', depth)} : {self.of('bool', depth)})"

    def _macro(self, depth: int) -> str:
        kind = self._pick(list(_LISTS))
        macro = self._pick(["all", "exists", "exists_one"])
        items = self.of(kind, depth)
        return f"{items}.{macro}({self._bound(_LISTS[kind], 'bool', depth)})"

    def _bound(self, kind: str, result: str, depth: int) -> str:
        """`x, body`, where the body may use x."""
        self._count += 1
        name = f"x{self._count}"
        self._locals.append((name, kind))
        body = self.of(result, depth)
        self._locals.pop()
        return f"{name}, {body}"

    def _membership(self, depth: int) -> str:
        if self._random.random() < 0.3:
            return f"({self.of('string', depth)} in {self.of('map', depth)})"
        kind = self._pick(list(_LISTS))
        return f"({self.of(_LISTS[kind], depth)} in {self.of(kind, depth)})"

    def _integer(self, depth: int) -> str:
        match self._random.randrange(6):
            case 0:
                if self._random.random() < 0.5:
                    return f"int('{self._pick(_NUMERALS)}')"
                return f"int({self.of(self._pick(['double', 'uint', 'int', 'time']), depth)})"
            case 1:
                return f"(-{self.of('int', depth)})"
            case 2:
                chosen = (self.of("bool", depth), self.of("int", depth), self.of("int", depth))
                return f"({chosen[0]} ? {chosen[1]} : {chosen[2]})"
            case 3:
                return f"{self.of('map', depth)}['{self._pick('aaab')}']"
        return self._arithmetic("int", "+-*/%", depth)

    def _arithmetic(self, kind: str, operators: str, depth: int) -> str:
        operator = self._pick(list(operators))
        return f"({self.of(kind, depth)} {operator} {self.of(kind, depth)})"

    def _measure(self, depth: int) -> str:
        return f"size({self.of(self._pick(['string', 'bytes', *_LISTS, 'map']), depth)})"

    def _indexed(self, kind: str) -> Callable[[int], str]:
        def make(depth: int) -> str:
            if self._random.random() < 0.7:
                known = "li" if kind == "ints" else "ls"
                return f"{known}[{self._pick(['0', '1', '2', 'li[1]', '-1', '4'])}]"
            return f"{self.of(kind, depth)}[{self._pick('01')}]"

        return make

    def _part(self, depth: int) -> str:
        if self._random.random() < 0.3:
            return f"{self.of('span', depth)}.{self._pick(_GETTERS[-4:-1])}()"
        zone = f"'{self._pick(_ZONES)}'" if self._random.random() < 0.4 else ""
        return f"{self.of('time', depth)}.{self._pick(_GETTERS)}({zone})"

    def _to_double(self, depth: int) -> str:
        if self._random.random() < 0.3:
            return f"double('{self._pick(_NUMERALS)}')"
        return f"double({self.of(self._pick(['int', 'uint']), depth)})"

    def _text(self, depth: int) -> str:
        text = self.of("string", depth)
        match self._random.randrange(9):
            case 0:
                return f"({text} + {self.of('string', depth)})"
            case 1:
                return f"{text}.charAt({self._pick(['0', '0', '1', 'i'])})"
            case 2:
                return f"{text}.lowerAscii()"
            case 3:
                return f"{text}.upperAscii()"
            case 4:
                return f"{text}.replace({self.of('string', depth)}, {self.of('string', depth)})"
            case 5:
                return f"{text}.substring({self._pick(['0', '0', '1', 'i'])})"
            case 6:
                return f"{text}.substring({self._pick('001')}, {self._pick('112')})"
            case 7:
                return f"{text}.trim()"
        return f"{self.of('strings', depth)}.join({self.of('string', depth)})"

    def _to_string(self, depth: int) -> str:
        kinds = ["int", "uint", "double", "bool", "bytes", "time", "span", "string"]
        return f"string({self.of(self._pick(kinds), depth)})"

    def _bytes(self, depth: int) -> str:
        if self._random.random() < 0.5:
            return f"bytes({self.of('string', depth)})"
        return f"({self.of('bytes', depth)} + {self.of('bytes', depth)})"

    def _list(self, kind: str) -> Callable[[int], str]:
        def make(depth: int) -> str:
            if self._random.random() < 0.3:
                return f"({self.of(kind, depth)} + {self.of(kind, depth)})"
            count = self._random.randint(1, 3)
            return f"[{', '.join(self.of(_LISTS[kind], depth) for _ in range(count))}]"

        return make

    def _mapped(self, kind: str) -> Callable[[int], str]:
        def make(depth: int) -> str:
            source = self._pick(list(_LISTS))
            items = self.of(source, depth)
            return f"{items}.map({self._bound(_LISTS[source], _LISTS[kind], depth)})"

        return make

    def _filtered(self, kind: str) -> Callable[[int], str]:
        return lambda depth: (
            f"{self.of(kind, depth)}.filter({self._bound(_LISTS[kind], 'bool', depth)})"
        )

    def _pieces(self, depth: int) -> str:
        limit = self._pick(["", "", ", 2", ", 0", ", -1"])
        if self._random.random() < 0.3:
            return f"'{self._pick(_STRINGS[1:])}'.split(''{limit})"
        return f"{self.of('string', depth)}.split('{self._pick(_STRINGS[1:])}'{limit})"

    def _map(self, depth: int) -> str:
        return (
            f"{{'a': {self.of('int', depth)}, '{self._pick(_STRINGS[2:])}': {self._pick(_INTS)}}}"
        )

    def _shifted(self, depth: int) -> str:
        if self._random.random() < 0.2:
            return f"timestamp({self._pick(['0', '1', 'i', '253402300799', '253402300800'])})"
        return f"({self.of('time', depth)} {self._pick('+-')} {self.of('span', depth)})"

    def _span(self, depth: int) -> str:
        if self._random.random() < 0.5:
            return f"({self.of('time', depth)} - {self.of('time', depth)})"
        return f"({self.of('span', depth)} {self._pick('+-')} {self.of('span', depth)})"


@pytest.fixture(scope="session")
def expression() -> Callable[[int], str]:
    """A function that returns the expression of a number; every third is deep."""
    return lambda seed: Expressions(seed).any(2 + seed % 3)


@pytest.fixture(scope="session")
def bindings() -> tuple[dict[str, str], dict[str, Any]]:
    """The variables of expressions: their kinds and their values."""
    return TYPES, VALUES
