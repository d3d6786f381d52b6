"""Generated expressions, evaluated by inkube's engine and by Google's C++ one.

Both must have the same value, or both must fail. Expressions for which Kubernetes has different
rules are listed: see `EXPLAINED`.
"""

import datetime as dt
import random
import re
from typing import Any

import pytest

from inkube.schemas import cel
from inkube.schemas.cel.declarations import types
from inkube.schemas.cel.declarations.values import Duration, Timestamp, Uint
from inkube.schemas.cel.language.parser import parse

cpp = pytest.importorskip("cel_expr_python.cel")
ext_optional = pytest.importorskip("cel_expr_python.ext.ext_optional")

COUNT = 3_200
EXPLAINED = {
    "cross-type order": "Kubernetes compares numbers of unlike types; plain CEL refuses to compile",
    "NaN": "cel-go fails to order NaN, C++ answers false",
    "conversion": "a failing conversion of a constant refuses the program before it runs",
}
VALUES: dict[str, Any] = {
    "i": 7, "j": -3, "d": 2.5, "e": 0.0, "s": "häuser", "t": "", "b": True, "c": False,
    "l": [3, 1, 2], "n": [], "q": ["a", "bc", ""], "m": {"a": 1, "b": 0}, "o": {},
    "x": {"k": 5, "l": [1, "a", None], "s": "text", "z": None},
}  # fmt: skip
OURS = {
    "i": types.INT, "j": types.INT, "d": types.DOUBLE, "e": types.DOUBLE, "s": types.STRING,
    "t": types.STRING, "b": types.BOOL, "c": types.BOOL, "l": types.list_of(types.INT),
    "n": types.list_of(types.INT), "q": types.LIST_STRING, "m": types.map_of(types.STRING, types.INT),
    "o": types.map_of(types.STRING, types.INT), "x": types.DYN,
}  # fmt: skip


class Generator:
    """Generates mostly well-typed expressions from a seed, so that a failure can be repeated."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.locals: list[tuple[str, str]] = []

    def make(self, kind: str, depth: int) -> str:
        leaves, branches = _PRODUCTIONS[kind]
        if depth <= 0 or self.random.random() < 0.15:
            found = [name for name, known in self.locals if known == kind]
            return self.random.choice([*leaves, *found])
        pattern = self.random.choice(branches)
        return self.fill(pattern, depth)

    def fill(self, pattern: str, depth: int) -> str:
        """Replace `<int>` by an int, and `<int:v>` by one in which the variable v is an int."""
        parts = []
        for part in pattern.split("<"):
            name, closed, rest = part.partition(">")
            if not closed or not name or name[0] in " =":
                parts.append(part if not parts else "<" + part)
                continue
            kind, _, binding = name.partition(":")
            parts.append(self.bound(kind, binding, depth) + rest)
        return "".join(parts)

    def bound(self, kind: str, binding: str, depth: int) -> str:
        if not binding:
            return self.make(kind, depth - 1)
        self.locals.append((binding[0], binding[1:]))
        text = self.make(kind, depth - 1)
        self.locals.pop()
        return text


# ruff: noqa: E501
_PRODUCTIONS: dict[str, tuple[list[str], list[str]]] = {
    "int": (
        ["i", "j", "0", "1", "-5", "9223372036854775807", "-9223372036854775808", "m.a", "int(x.k)"],
        [
            "(<int> + <int>)", "(<int> - <int>)", "(<int> * <int>)", "(<int> / <int>)",
            "(<int> % <int>)", "-(<int>)", "size(<string>)", "<ints>.size()", "<ints>[<int>]",
            "<map>[<string>]", "(<bool> ? <int> : <int>)", "int(<double> + e)", "int(<string> + t)",
            "int(<uint> + (1u - 1u))", "int('12')", "<map>.a", "size(<map>)", "int(x.l[<int>])",
            "<duration>.getSeconds()", "<timestamp>.getFullYear()", "<map>.?a.orValue(<int>)",
            "<ints>[?<int>].orValue(<int>)",
        ],
    ),
    "uint": (["1u", "0u", "18446744073709551615u"], ["(<uint> + <uint>)", "(<uint> - <uint>)",
              "(<uint> * <uint>)", "(<uint> / <uint>)", "(<uint> % <uint>)", "uint(<int> + j - j)"]),
    "double": (
        ["d", "e", "1.0", "-0.5", "1e300"],
        ["(<double> + <double>)", "(<double> - <double>)", "(<double> * <double>)",
         "(<double> / <double>)", "-(<double>)", "double(<int>)", "(<bool> ? <double> : <double>)"],
    ),
    "string": (
        ["s", "t", "'a'", "'öä'", "'12'", "string(x.s)", "''"],
        ["(<string> + <string>)", "string(<int>)", "string(<bool>)", "(<bool> ? <string> : <string>)",
         "<strings>[<int>]", "string(<duration>)", "string(<uint>)"],
    ),
    "bool": (
        ["b", "c", "true", "false"],
        ["(<int> == <int>)", "(<int> < <int>)", "(<int> >= <int>)", "(<string> == <string>)",
         "(<string> < <string>)", "(<bool> && <bool>)", "(<bool> || <bool>)", "!<bool>",
         "(<double> == <double>)", "<string>.contains(<string>)", "<string>.startsWith(<string>)",
         "<string>.endsWith(<string>)", "(<int> in <ints>)", "(<string> in <map>)",
         "<ints>.all(v, <bool:vint>)", "<ints>.exists(v, <bool:vint>)",
         "<ints>.exists_one(v, <bool:vint>)", "<map>.all(k, <bool:kstring>)",
         "<strings>.exists(w, <bool:wstring>)", "has(<map>.a)", "has(x.z)", "has(x.nope)",
         "(<ints> == <ints>)", "(<map> == <map>)", "(<bool> ? <bool> : <bool>)",
         "(dyn(<int>) == dyn(<double>))", "(<uint> < <uint>)", "(dyn(<int>) == dyn(<string>))",
         "(<int> != <int>)", "(<bool> == <bool>)", "(<duration> < <duration>)",
         "(<timestamp> == <timestamp>)", "(type(<int>) == type(<string>))", "(type(x.k) == int)",
         "(<strings> == <strings>)", "(x.l == <ints>)", "(<bytes> == <bytes>)", "(x.z == null)",
         "<string>.matches('^[a-z]+$')", "<map>.?zz.hasValue()", "(<int> in {1: 'a', 7: 'b'})",
         "x.nope", "<ints>.map(v, <int:vint>).all(u, <bool:uint>)"],
    ),
    "ints": (
        ["l", "n", "[1, 2]", "[]"],
        ["[<int>, <int>]", "(<ints> + <ints>)", "<ints>.map(v, <int:vint>)",
         "<ints>.filter(v, <bool:vint>)", "<strings>.map(w, size(w))", "(<bool> ? <ints> : <ints>)",
         "<ints>.map(v, <bool:vint>, <int:vint>)", "{'a': 1}.map(k, <map>[k])"],
    ),
    "strings": (
        ["q", "['x']"],
        ["[<string>, <string>]", "(<strings> + <strings>)", "<strings>.map(w, <string:wstring>)",
         "{<string>: 1}.map(k, k)", "<strings>.filter(w, <bool:wstring>)"],
    ),
    "map": (["m", "o", "{'a': 1}"], ["{'a': <int>, 'b': <int>}", "(<bool> ? <map> : <map>)",
                                     "{<string>: <int>}"]),
    "duration": (["duration('1h')", "duration('-90s')"], ["(<duration> + <duration>)",
                 "(<duration> - <duration>)", "(<timestamp> - <timestamp>)"]),
    "timestamp": (["timestamp('2024-02-29T12:00:00Z')", "timestamp(0)"],
                  ["(<timestamp> + <duration>)", "(<timestamp> - <duration>)"]),
    "bytes": (["b'ab'", "b''"], ["bytes(<string>)", "(<bytes> + <bytes>)"]),
}  # fmt: skip


def _cpp_environment() -> Any:
    kind = cpp.Type
    declared = {
        "i": kind.INT, "j": kind.INT, "d": kind.DOUBLE, "e": kind.DOUBLE, "s": kind.STRING,
        "t": kind.STRING, "b": kind.BOOL, "c": kind.BOOL, "l": kind.List(kind.INT),
        "n": kind.List(kind.INT), "q": kind.List(kind.STRING), "m": kind.Map(kind.STRING, kind.INT),
        "o": kind.Map(kind.STRING, kind.INT), "x": kind.DYN,
    }  # fmt: skip
    return cpp.NewEnv(variables=declared, extensions=[ext_optional.ExtOptional()])


def _plain(value: Any) -> Any:
    """Return a value of either engine as a comparable pair of kind and value."""
    if hasattr(value, "value") and hasattr(value, "type") and not isinstance(value, type):
        value = value.value()
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, Timestamp | Duration):
        return ("ns", value.ns)
    if isinstance(value, dt.datetime):
        epoch = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
        return ("ns", (value - epoch) // dt.timedelta(microseconds=1) * 1000)
    if isinstance(value, dt.timedelta):
        return ("ns", value // dt.timedelta(microseconds=1) * 1000)
    if isinstance(value, float):
        return ("double", repr(value))
    if isinstance(value, bytes | bytearray):
        return ("bytes", bytes(value))
    if isinstance(value, Uint):
        return int(value)
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    return value


def _ours(text: str) -> Any:
    try:
        return _plain(cel.compile(text, OURS).evaluate(VALUES))
    except cel.CompileError:
        return "refused"
    except cel.CelError:
        return "failed"


def _theirs(environment: Any, text: str) -> Any:
    try:
        expression = environment.compile(text)
    except RuntimeError:
        return "refused"
    try:
        found = expression.eval(data=VALUES)
    except RuntimeError:
        return "failed"
    return "failed" if "ERROR" in str(found.type()) else _plain(found)


def expressions(seed: int, count: int) -> list[str]:
    """Return generated expressions of every type."""
    generator = Generator(seed)
    kinds = [kind for kind in _PRODUCTIONS if kind not in ("timestamp", "duration", "uint")]
    return [generator.make(generator.random.choice(kinds), 4) for _ in range(count)]


def test_generated_expressions_mean_what_they_mean_in_cpp() -> None:
    environment = _cpp_environment()
    different = []
    decided = 0
    for text in expressions(1, COUNT):
        ours, theirs = _ours(text), _theirs(environment, text)
        decided += ours not in ("refused", "failed")
        if ours != theirs:
            different.append((text, ours, theirs))
    assert decided > COUNT / 3
    assert different == []


PARTS = [
    "a",
    "b",
    ".",
    ".",
    "[",
    "]",
    "{",
    "}",
    "(",
    ")",
    ",",
    "?",
    ":",
    "+",
    "!",
    "==",
    "&&",
    "||",
    "<",
    "in",
    "true",
    "null",
    "1",
    "1.5",
    "'x'",
    "b'y'",
    "2u",
    "`a`",
    "has",
    "self.x",
    "@",
    "|",
    "&",
    "=",
    "'open",
    '"open',
    "r'\\d'",
    "b'\\x4'",
    "#",
    "$",
    "é",
    "//",
    "0x",
    "1e",
    "'a\\q'",
    "\\",
    "as",
    "for",
    "A{",
    "?.",
    ".?",
    "[?",
    "{?",
]


def _syntax_errors_of_cpp(environment: Any, text: str) -> list[str]:
    """Return the errors of the ANTLR parser, with cel-go's one change (parser.go, SyntaxError)."""
    try:
        environment.compile(text)
    except RuntimeError as refusal:
        told = str(refusal).removesuffix(" [INVALID_ARGUMENT]").replace("\\u003F", "?")
        told = re.sub(
            r"no viable alternative at input '.(true|false|null)'",
            r"mismatched input '\1' expecting IDENTIFIER",
            told,
        )
        found = re.findall("Syntax error: (.*)", told)
        return sorted(error for error in found if error != "More than 12 parse errors.")
    return []


def _syntax_errors(text: str) -> list[str]:
    try:
        parse(text)
    except cel.CompileError as refusal:
        found = (issue.message.partition("Syntax error: ") for issue in refusal.issues)
        return sorted(message for _, is_syntax, message in found if is_syntax)
    return []


def test_broken_expressions_are_refused_in_antlrs_words() -> None:
    environment = cpp.NewEnv(variables={})
    chosen = random.Random(3)
    for place in range(1_000):
        parts = chosen.choices(PARTS, k=chosen.randint(1, 12))
        text = " ".join(parts) if place % 2 else "".join(parts)
        assert _syntax_errors(text) == _syntax_errors_of_cpp(environment, text), text
