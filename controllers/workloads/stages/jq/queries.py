"""Compiles the text of a query to a filter: a lexer, then a recursive descent parser."""

import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from inkube.controllers.workloads.stages.jq.filters import (
    Filter,
    Scope,
    alternative_to,
    binary,
    bound_to,
    built,
    chosen,
    collected,
    constant_of,
    each_of,
    identity,
    indexed,
    joined,
    logical,
    member_of,
    piped,
    quiet,
    recursed,
    sliced,
    variable_of,
)
from inkube.controllers.workloads.stages.jq.functions import FUNCTIONS
from inkube.controllers.workloads.stages.jq.values import ARITHMETIC, COMPARISONS, RunError
from inkube.formats import caches

LONGEST = 4096
"""Characters of a query, at most."""


DEEPEST = 64
"""Nested brackets of a query, at most."""


class QueryError(ValueError):
    """The query cannot be parsed, or uses an unsupported feature."""


class Query(NamedTuple):
    """A compiled query."""

    text: str
    run: Filter

    def __call__(self, value: Any) -> Iterator[Any]:
        """Yield the outputs for a JSON value. Raises RunError during the iteration."""
        return self.run(value, Scope())

    def outputs(self, value: Any) -> list[Any]:
        """Return the outputs for a JSON value before the first error."""
        found: list[Any] = []
        try:
            found.extend(self(value))
        except (RunError, RecursionError):
            return found
        return found


@caches.of_texts(512)
def compile(text: str) -> Query:  # noqa: A001 # read as jq.compile
    """Compile a query. Raises QueryError."""
    if len(text) > LONGEST:
        raise QueryError(f"a query has at most {LONGEST} characters")
    parser = _Parser(text)
    return Query(text, parser.whole())


class _Token(NamedTuple):
    kind: str
    text: str
    at: int


_TOKENS = re.compile(
    r"""(?P<space>\s+|\#[^\n]*)
    |(?P<field>\.[A-Za-z_]\w*)
    |(?P<string>"(?:[^"\\]|\\.)*")
    |(?P<number>\d+(?:\.\d*)?(?:[eE][+-]?\d+)?|\.\d+)
    |(?P<variable>\$[A-Za-z_]\w*)
    |(?P<word>[A-Za-z_]\w*)
    |(?P<operator>\?//|\|=|\+=|-=|\*=|/=|%=|//=|//|==|!=|<=|>=|\.\.|[.\[\](){}|,:;=<>+\-*/%?])""",
    re.VERBOSE,
)


_UNSUPPORTED = frozenset({
    "catch", "debug", "def", "del", "delpaths", "env", "foreach", "getpath", "import", "include",
    "input", "inputs", "label", "limit", "path", "paths", "reduce", "repeat", "setpath", "try",
    "until", "while",
})  # fmt: skip


_ASSIGNMENTS = frozenset(["=", "|=", "+=", "-=", "*=", "/=", "%=", "//=", "?//"])


_CONSTANTS = {"null": None, "true": True, "false": False}


def _tokens(text: str) -> list[_Token]:
    found, at = [], 0
    while at < len(text):
        match = _TOKENS.match(text, at)
        if match is None:
            raise QueryError(f"unexpected {text[at]!r} at {at} in {text!r}")
        kind = match.lastgroup or ""
        if kind != "space":
            found.append(_Token(kind, match[0], at))
        at = match.end()
    found.append(_Token("end", "", at))
    return found


class _Parser:
    """A recursive descent parser, loosest binding first: pipe, comma, `//`, or, and, compare, add,
    mul."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = _tokens(text)
        self._at = 0
        self._depth = 0

    def whole(self) -> Filter:
        found = self._pipe()
        if self._peek().kind != "end":
            raise self._unexpected()
        return found

    def _peek(self) -> _Token:
        return self._tokens[self._at]

    def _next(self) -> _Token:
        token = self._tokens[self._at]
        self._at += 1
        return token

    def _accept(self, text: str) -> bool:
        if self._peek().text == text and self._peek().kind in ("operator", "word"):
            self._at += 1
            return True
        return False

    def _expect(self, text: str) -> None:
        if not self._accept(text):
            raise self._unexpected(f", {text!r} was expected")

    def _unexpected(self, hint: str = "") -> QueryError:
        token = self._peek()
        if token.text in _ASSIGNMENTS or token.text in _UNSUPPORTED:
            return QueryError(f"not supported: {token.text} in {self._text!r}")
        shown = repr(token.text) if token.kind != "end" else "the end"
        return QueryError(f"unexpected {shown} at {token.at} in {self._text!r}{hint}")

    def _pipe(self) -> Filter:
        self._depth += 1
        if self._depth > DEEPEST:
            raise QueryError(f"a query nests at most {DEEPEST} deep")
        left = self._comma()
        if self._accept("|"):
            left = piped(left, self._pipe())
        self._depth -= 1
        return left

    def _comma(self) -> Filter:
        left = self._alternative()
        while self._accept(","):
            left = joined(left, self._alternative())
        return left

    def _alternative(self) -> Filter:
        left = self._either()
        if self._accept("//"):
            return alternative_to(left, self._alternative())
        return left

    def _either(self) -> Filter:
        left = self._both()
        while self._accept("or"):
            left = logical(left, self._both(), ends=True)
        return left

    def _both(self) -> Filter:
        left = self._compare()
        while self._accept("and"):
            left = logical(left, self._compare(), ends=False)
        return left

    def _compare(self) -> Filter:
        left = self._sum()
        for operator, function in COMPARISONS.items():
            if self._accept(operator):
                return binary(left, self._sum(), function)
        return left

    def _sum(self) -> Filter:
        left = self._product()
        while self._peek().kind == "operator" and self._peek().text in ("+", "-"):
            operator = self._next().text
            left = binary(left, self._product(), ARITHMETIC[operator])
        return left

    def _product(self) -> Filter:
        left = self._postfix()
        while self._peek().kind == "operator" and self._peek().text in ("*", "/", "%"):
            operator = self._next().text
            left = binary(left, self._postfix(), ARITHMETIC[operator])
        return left

    def _postfix(self) -> Filter:
        found = self._term()
        while True:
            token = self._peek()
            if token.kind == "field":
                self._at += 1
                found = piped(found, member_of(token.text[1:]))
            elif self._accept("["):
                found = self._bracket(found)
            elif self._accept("?"):
                found = quiet(found)
            elif token.text == "." and token.kind == "operator":
                self._at += 1
                found = self._after_dot(found)
            elif self._accept("as"):
                return self._binding(found)
            else:
                return found

    def _after_dot(self, inner: Filter) -> Filter:
        """Parse `."name"` or `.[…]` after a term."""
        if self._peek().kind == "string":
            return piped(inner, member_of(self._string()))
        self._expect("[")
        return self._bracket(inner)

    def _bracket(self, inner: Filter) -> Filter:
        """Parse `[…]` after a term: empty, an index or a slice."""
        if self._accept("]"):
            return piped(inner, each_of)
        start: Filter | None = None
        if not self._accept(":"):
            start = self._pipe()
            if self._accept("]"):
                return indexed(inner, start)
            self._expect(":")
        if self._accept("]"):
            return sliced(inner, start, None)
        end = self._pipe()
        self._expect("]")
        return sliced(inner, start, end)

    def _binding(self, source: Filter) -> Filter:
        token = self._next()
        if token.kind != "variable":
            self._at -= 1
            raise self._unexpected(", a variable was expected")
        self._expect("|")
        return bound_to(source, token.text, self._pipe())

    def _string(self) -> str:
        token = self._next()
        if "\\(" in token.text:
            raise QueryError(f"not supported: string interpolation in {self._text!r}")
        try:
            found: str = json.loads(token.text)
        except ValueError as error:
            raise QueryError(f"a bad string at {token.at} in {self._text!r}: {error}") from error
        return found

    def _term(self) -> Filter:
        token = self._peek()
        if token.kind == "field":
            self._at += 1
            return member_of(token.text[1:])
        if token.kind == "string":
            return constant_of(self._string())
        if token.kind == "number":
            self._at += 1
            number = float(token.text)
            return constant_of(int(number) if number.is_integer() else number)
        if token.kind == "variable":
            self._at += 1
            return variable_of(token.text)
        if token.kind == "word":
            return self._word()
        return self._symbol()

    def _symbol(self) -> Filter:
        if self._accept(".."):
            return recursed
        if self._accept("."):
            if self._peek().kind == "string":
                return member_of(self._string())
            return identity
        if self._accept("("):
            found = self._pipe()
            self._expect(")")
            return found
        if self._accept("["):
            if self._accept("]"):
                return constant_of([])
            found = self._pipe()
            self._expect("]")
            return collected(found)
        if self._accept("{"):
            return self._object()
        if self._accept("-"):
            return binary(constant_of(0), self._postfix(), ARITHMETIC["-"])
        raise self._unexpected()

    def _word(self) -> Filter:
        token = self._next()
        word = token.text
        if word in _UNSUPPORTED:
            raise QueryError(f"not supported: {word} in {self._text!r}")
        if word in _CONSTANTS:
            return constant_of(_CONSTANTS[word])
        if word == "if":
            return self._condition()
        arguments: list[Filter] = []
        if self._accept("("):
            arguments.append(self._pipe())
            while self._accept(";"):
                arguments.append(self._pipe())
            self._expect(")")
        made = FUNCTIONS.get((word, len(arguments)))
        if made is None:
            raise QueryError(f"not supported: {word}/{len(arguments)} in {self._text!r}")
        return made(*arguments)

    def _condition(self) -> Filter:
        test = self._pipe()
        self._expect("then")
        yes = self._pipe()
        if self._accept("elif"):
            return chosen(test, yes, self._condition())
        no = self._pipe() if self._accept("else") else identity
        self._expect("end")
        return chosen(test, yes, no)

    def _object(self) -> Filter:
        members: list[tuple[Filter, Filter]] = []
        while not self._accept("}"):
            if members:
                self._expect(",")
            members.append(self._pair())
        return built(members)

    def _pair(self) -> tuple[Filter, Filter]:
        token = self._peek()
        if self._accept("("):
            key = self._pipe()
            self._expect(")")
        elif token.kind == "string":
            key = constant_of(self._string())
        elif token.kind == "variable":
            self._at += 1
            return constant_of(token.text[1:]), variable_of(token.text)
        elif token.kind == "word":
            self._at += 1
            key = constant_of(token.text)
            if self._peek().text != ":":
                return key, member_of(token.text)
        else:
            raise self._unexpected()
        self._expect(":")
        return key, self._alternative()
