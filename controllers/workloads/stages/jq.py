"""jq queries, as far as the selectors and delays of stages use them: text in, a function out.

    query = jq.compile('.metadata.annotations["delay"]')
    list(query(pod))  # every output

Paths, `[]`, slices, `|`, `,`, `//`, `?`, `as $x |`, operators, `if`, array and object construction
and the functions of `_FUNCTIONS`. What jq can besides (`def`, `reduce`, `foreach`, `path`,
assignments, `input`, string interpolation) is refused by name when the query is compiled. A run is
bounded by `STEPS`: a query from a stranger costs milliseconds at most.
"""

import json
import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from inkube.schemas import caches
from inkube.schemas.golang import regexp

STEPS = 20_000
"""Values that one run may produce in between."""
LONGEST = 4096
"""Characters of a query."""
DEEPEST = 64
"""Brackets within brackets."""


class QueryError(ValueError):
    """The query cannot be read, or asks for what is not supported."""


class RunError(Exception):
    """The query does not fit the value it runs on."""


class _Scope:
    """The variables of one run and how much it may still do."""

    __slots__ = ("left", "variables")

    def __init__(self) -> None:
        self.variables: dict[str, Any] = {}
        self.left = STEPS

    def spend(self, steps: int = 1) -> None:
        self.left -= steps
        if self.left < 0:
            raise RunError(f"the query takes more than {STEPS} steps")


_Filter = Callable[[Any, _Scope], Iterator[Any]]


class Query(NamedTuple):
    """A compiled query."""

    text: str
    run: _Filter

    def __call__(self, value: Any) -> Iterator[Any]:
        """Every output for a JSON value. Raises RunError on the way."""
        return self.run(value, _Scope())

    def outputs(self, value: Any) -> list[Any]:
        """Every output up to the first error; one that fails has none after it."""
        found: list[Any] = []
        try:
            found.extend(self(value))
        except (RunError, RecursionError):
            return found
        return found


@caches.of_texts(512)
def compile(text: str) -> Query:  # noqa: A001 # read as jq.compile
    """The query of a text. Raises QueryError."""
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
    """Recursive descent, loosest binding first: pipe, comma, `//`, or, and, compare, add, mul."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = _tokens(text)
        self._at = 0
        self._depth = 0

    def whole(self) -> _Filter:
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

    def _takes(self, text: str) -> bool:
        if self._peek().text == text and self._peek().kind in ("operator", "word"):
            self._at += 1
            return True
        return False

    def _expect(self, text: str) -> None:
        if not self._takes(text):
            raise self._unexpected(f", {text!r} was expected")

    def _unexpected(self, why: str = "") -> QueryError:
        token = self._peek()
        if token.text in _ASSIGNMENTS or token.text in _UNSUPPORTED:
            return QueryError(f"not supported: {token.text} in {self._text!r}")
        shown = repr(token.text) if token.kind != "end" else "the end"
        return QueryError(f"unexpected {shown} at {token.at} in {self._text!r}{why}")

    def _pipe(self) -> _Filter:
        self._depth += 1
        if self._depth > DEEPEST:
            raise QueryError(f"a query nests at most {DEEPEST} deep")
        left = self._comma()
        if self._takes("|"):
            left = _piped(left, self._pipe())
        self._depth -= 1
        return left

    def _comma(self) -> _Filter:
        left = self._alternative()
        while self._takes(","):
            left = _joined(left, self._alternative())
        return left

    def _alternative(self) -> _Filter:
        left = self._either()
        if self._takes("//"):
            return _alternative(left, self._alternative())
        return left

    def _either(self) -> _Filter:
        left = self._both()
        while self._takes("or"):
            left = _logical(left, self._both(), ends=True)
        return left

    def _both(self) -> _Filter:
        left = self._compare()
        while self._takes("and"):
            left = _logical(left, self._compare(), ends=False)
        return left

    def _compare(self) -> _Filter:
        left = self._sum()
        for operator, function in _COMPARISONS.items():
            if self._takes(operator):
                return _binary(left, self._sum(), function)
        return left

    def _sum(self) -> _Filter:
        left = self._product()
        while self._peek().kind == "operator" and self._peek().text in ("+", "-"):
            operator = self._next().text
            left = _binary(left, self._product(), _ARITHMETIC[operator])
        return left

    def _product(self) -> _Filter:
        left = self._postfix()
        while self._peek().kind == "operator" and self._peek().text in ("*", "/", "%"):
            operator = self._next().text
            left = _binary(left, self._postfix(), _ARITHMETIC[operator])
        return left

    def _postfix(self) -> _Filter:
        found = self._term()
        while True:
            token = self._peek()
            if token.kind == "field":
                self._at += 1
                found = _piped(found, _member(token.text[1:]))
            elif self._takes("["):
                found = self._bracket(found)
            elif self._takes("?"):
                found = _quiet(found)
            elif token.text == "." and token.kind == "operator":
                self._at += 1
                found = self._after_dot(found)
            elif self._takes("as"):
                return self._binding(found)
            else:
                return found

    def _after_dot(self, found: _Filter) -> _Filter:
        """`."name"` or `.[…]` behind something."""
        if self._peek().kind == "string":
            return _piped(found, _member(self._string()))
        self._expect("[")
        return self._bracket(found)

    def _bracket(self, found: _Filter) -> _Filter:
        """What stands in `[…]` behind a term: nothing, an index, a slice."""
        if self._takes("]"):
            return _piped(found, _each)
        start: _Filter | None = None
        if not self._takes(":"):
            start = self._pipe()
            if self._takes("]"):
                return _indexed(found, start)
            self._expect(":")
        if self._takes("]"):
            return _sliced(found, start, None)
        end = self._pipe()
        self._expect("]")
        return _sliced(found, start, end)

    def _binding(self, source: _Filter) -> _Filter:
        token = self._next()
        if token.kind != "variable":
            self._at -= 1
            raise self._unexpected(", a variable was expected")
        self._expect("|")
        return _bound(source, token.text, self._pipe())

    def _string(self) -> str:
        token = self._next()
        if "\\(" in token.text:
            raise QueryError(f"not supported: string interpolation in {self._text!r}")
        try:
            found: str = json.loads(token.text)
        except ValueError as error:
            raise QueryError(f"a bad string at {token.at} in {self._text!r}: {error}") from error
        return found

    def _term(self) -> _Filter:
        token = self._peek()
        if token.kind == "field":
            self._at += 1
            return _member(token.text[1:])
        if token.kind == "string":
            return _constant(self._string())
        if token.kind == "number":
            self._at += 1
            number = float(token.text)
            return _constant(int(number) if number.is_integer() else number)
        if token.kind == "variable":
            self._at += 1
            return _variable(token.text)
        if token.kind == "word":
            return self._word()
        return self._symbol()

    def _symbol(self) -> _Filter:
        if self._takes(".."):
            return _recursed
        if self._takes("."):
            if self._peek().kind == "string":
                return _member(self._string())
            return _identity
        if self._takes("("):
            found = self._pipe()
            self._expect(")")
            return found
        if self._takes("["):
            if self._takes("]"):
                return _constant([])
            found = self._pipe()
            self._expect("]")
            return _collected(found)
        if self._takes("{"):
            return self._object()
        if self._takes("-"):
            return _binary(_constant(0), self._postfix(), _ARITHMETIC["-"])
        raise self._unexpected()

    def _word(self) -> _Filter:
        token = self._next()
        word = token.text
        if word in _UNSUPPORTED:
            raise QueryError(f"not supported: {word} in {self._text!r}")
        if word in _CONSTANTS:
            return _constant(_CONSTANTS[word])
        if word == "if":
            return self._condition()
        arguments: list[_Filter] = []
        if self._takes("("):
            arguments.append(self._pipe())
            while self._takes(";"):
                arguments.append(self._pipe())
            self._expect(")")
        made = _FUNCTIONS.get((word, len(arguments)))
        if made is None:
            raise QueryError(f"not supported: {word}/{len(arguments)} in {self._text!r}")
        return made(*arguments)

    def _condition(self) -> _Filter:
        test = self._pipe()
        self._expect("then")
        yes = self._pipe()
        if self._takes("elif"):
            return _chosen(test, yes, self._condition())
        no = self._pipe() if self._takes("else") else _identity
        self._expect("end")
        return _chosen(test, yes, no)

    def _object(self) -> _Filter:
        members: list[tuple[_Filter, _Filter]] = []
        while not self._takes("}"):
            if members:
                self._expect(",")
            members.append(self._pair())
        return _built(members)

    def _pair(self) -> tuple[_Filter, _Filter]:
        token = self._peek()
        if self._takes("("):
            key = self._pipe()
            self._expect(")")
        elif token.kind == "string":
            key = _constant(self._string())
        elif token.kind == "variable":
            self._at += 1
            return _constant(token.text[1:]), _variable(token.text)
        elif token.kind == "word":
            self._at += 1
            key = _constant(token.text)
            if self._peek().text != ":":
                return key, _member(token.text)
        else:
            raise self._unexpected()
        self._expect(":")
        return key, self._alternative()


def _identity(value: Any, scope: _Scope) -> Iterator[Any]:
    yield value


def _constant(constant: Any) -> _Filter:
    def run(value: Any, scope: _Scope) -> Iterator[Any]:
        yield constant

    return run


def _variable(name: str) -> _Filter:
    def run(value: Any, scope: _Scope) -> Iterator[Any]:
        if name not in scope.variables:
            raise RunError(f"{name} is not defined")
        yield scope.variables[name]

    return run


def _member(name: str) -> _Filter:
    def run(value: Any, scope: _Scope) -> Iterator[Any]:
        scope.spend()
        if value is None:
            yield None
        elif isinstance(value, dict):
            yield value.get(name)
        else:
            raise RunError(f"cannot index {_type(value)} with {name!r}")

    return run


def _each(value: Any, scope: _Scope) -> Iterator[Any]:
    if isinstance(value, dict):
        items: Any = value.values()
    elif isinstance(value, list):
        items = value
    else:
        raise RunError(f"cannot iterate over {_type(value)}")
    for item in items:
        scope.spend()
        yield item


def _recursed(value: Any, scope: _Scope) -> Iterator[Any]:
    scope.spend()
    yield value
    if isinstance(value, (dict, list)):
        for item in _each(value, scope):
            yield from _recursed(item, scope)


def _piped(left: _Filter, right: _Filter) -> _Filter:
    def run(value: Any, scope: _Scope) -> Iterator[Any]:
        for item in left(value, scope):
            scope.spend()
            yield from right(item, scope)

    return run


def _joined(left: _Filter, right: _Filter) -> _Filter:
    def run(value: Any, scope: _Scope) -> Iterator[Any]:
        yield from left(value, scope)
        yield from right(value, scope)

    return run


def _quiet(inner: _Filter) -> _Filter:
    def run(value: Any, scope: _Scope) -> Iterator[Any]:
        try:
            yield from inner(value, scope)
        except RunError:
            if scope.left < 0:
                raise

    return run


def _alternative(left: _Filter, right: _Filter) -> _Filter:
    """Every true output of the left, or those of the right when there is none."""

    def run(value: Any, scope: _Scope) -> Iterator[Any]:
        found = False
        for item in _quiet(left)(value, scope):
            if _is_true(item):
                found = True
                yield item
        if not found:
            yield from right(value, scope)

    return run


def _logical(left: _Filter, right: _Filter, *, ends: bool) -> _Filter:
    def run(value: Any, scope: _Scope) -> Iterator[Any]:
        for first in left(value, scope):
            if _is_true(first) is ends:
                yield ends
            else:
                for second in right(value, scope):
                    yield _is_true(second)

    return run


def _binary(left: _Filter, right: _Filter, function: Callable[[Any, Any], Any]) -> _Filter:
    def run(value: Any, scope: _Scope) -> Iterator[Any]:
        for second in right(value, scope):
            for first in left(value, scope):
                scope.spend()
                yield function(first, second)

    return run


def _indexed(found: _Filter, index: _Filter) -> _Filter:
    def run(value: Any, scope: _Scope) -> Iterator[Any]:
        for item in found(value, scope):
            for key in index(value, scope):
                scope.spend()
                yield _at(item, key)

    return run


def _at(value: Any, key: Any) -> Any:
    if value is None and (isinstance(key, str) or _is_number(key)):
        return None
    if isinstance(value, dict) and isinstance(key, str):
        return value.get(key)
    if isinstance(value, list) and _is_number(key):
        place = int(key)
        return value[place] if -len(value) <= place < len(value) else None
    raise RunError(f"cannot index {_type(value)} with {_type(key)}")


def _sliced(found: _Filter, start: _Filter | None, end: _Filter | None) -> _Filter:
    none = _constant(None)

    def run(value: Any, scope: _Scope) -> Iterator[Any]:
        for item in found(value, scope):
            for first in (start or none)(value, scope):
                for last in (end or none)(value, scope):
                    if item is None:
                        yield None
                    elif isinstance(item, (str, list)):
                        yield item[_bound_of(first) : _bound_of(last)]
                    else:
                        raise RunError(f"cannot slice {_type(item)}")

    return run


def _bound_of(value: Any) -> int | None:
    if value is None or _is_number(value):
        return None if value is None else int(value)
    raise RunError("the bounds of a slice are numbers")


def _bound(source: _Filter, name: str, body: _Filter) -> _Filter:
    def run(value: Any, scope: _Scope) -> Iterator[Any]:
        for item in source(value, scope):
            scope.spend()
            before = scope.variables
            for output in _with(scope, {**before, name: item}, body(value, scope)):
                scope.variables = before
                yield output
            scope.variables = before

    return run


def _with(scope: _Scope, variables: dict[str, Any], outputs: Iterator[Any]) -> Iterator[Any]:
    """The outputs, each computed under these variables."""
    while True:
        scope.variables = variables
        try:
            output = next(outputs)
        except StopIteration:
            return
        yield output


def _collected(inner: _Filter) -> _Filter:
    def run(value: Any, scope: _Scope) -> Iterator[Any]:
        yield list(inner(value, scope))

    return run


def _built(members: list[tuple[_Filter, _Filter]]) -> _Filter:
    def run(value: Any, scope: _Scope) -> Iterator[Any]:
        made: list[dict[str, Any]] = [{}]
        for key, content in members:
            grown = []
            for one in made:
                for name in key(value, scope):
                    if not isinstance(name, str):
                        raise RunError(f"an object's key cannot be {_type(name)}")
                    for item in content(value, scope):
                        scope.spend()
                        grown.append({**one, name: item})
            made = grown
        yield from made

    return run


def _chosen(test: _Filter, yes: _Filter, no: _Filter) -> _Filter:
    def run(value: Any, scope: _Scope) -> Iterator[Any]:
        for answer in test(value, scope):
            yield from (yes if _is_true(answer) else no)(value, scope)

    return run


def _is_true(value: Any) -> bool:
    return value is not None and value is not False


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _type(value: Any) -> str:
    kinds: dict[type, str] = {str: "string", list: "array", dict: "object"}
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if _is_number(value):
        return "number"
    return kinds[type(value)]


_ORDER = {"null": 0, "boolean": 1, "number": 3, "string": 4, "array": 5, "object": 6}


def _rank(value: Any) -> tuple[Any, ...]:
    """What jq sorts by: the type first."""
    kind = _type(value)
    if kind == "array":
        return (_ORDER[kind], [_rank(item) for item in value])
    if kind == "object":
        keys = sorted(value)
        return (_ORDER[kind], keys, [_rank(value[key]) for key in keys])
    return (_ORDER[kind], value) if value is not None else (0,)


def _equal(left: Any, right: Any) -> bool:
    return bool(_rank(left) == _rank(right))


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, separators=(",", ":"))


def _plus(left: Any, right: Any) -> Any:
    if left is None or right is None:
        return right if left is None else left
    if _is_number(left) and _is_number(right):
        return left + right
    for kind in (str, list):
        if isinstance(left, kind) and isinstance(right, kind):
            if len(left) + len(right) > STEPS:
                raise RunError("too long a value")
            return left + right  # type: ignore[operator] # both are of the kind
    if isinstance(left, dict) and isinstance(right, dict):
        return {**left, **right}
    raise RunError(f"{_type(left)} and {_type(right)} cannot be added")


def _minus(left: Any, right: Any) -> Any:
    if isinstance(left, list) and isinstance(right, list):
        return [item for item in left if not any(_equal(item, other) for other in right)]
    return _numbers(left, right, "subtracted", lambda a, b: a - b)


def _times(left: Any, right: Any) -> Any:
    return _numbers(left, right, "multiplied", lambda a, b: a * b)


def _over(left: Any, right: Any) -> Any:
    if isinstance(left, str) and isinstance(right, str):
        return left.split(right) if right else list(left)
    if right == 0 and _is_number(right):
        raise RunError("division by zero")
    return _whole(_numbers(left, right, "divided", lambda a, b: a / b))


def _modulo(left: Any, right: Any) -> Any:
    if not (_is_number(left) and _is_number(right)) or int(right) == 0:
        raise RunError(f"{_type(left)} and {_type(right)} cannot be divided")
    rest = abs(int(left)) % abs(int(right))
    return -rest if left < 0 else rest


def _numbers(left: Any, right: Any, word: str, function: Callable[[Any, Any], Any]) -> Any:
    if not (_is_number(left) and _is_number(right)):
        raise RunError(f"{_type(left)} and {_type(right)} cannot be {word}")
    return function(left, right)


def _whole(value: float) -> int | float:
    return int(value) if isinstance(value, float) and value.is_integer() else value


_COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "==": _equal,
    "!=": lambda left, right: not _equal(left, right),
    "<=": lambda left, right: _rank(left) <= _rank(right),
    ">=": lambda left, right: _rank(left) >= _rank(right),
    "<": lambda left, right: _rank(left) < _rank(right),
    ">": lambda left, right: _rank(left) > _rank(right),
}
_ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
    "+": _plus,
    "-": _minus,
    "*": _times,
    "/": _over,
    "%": _modulo,
}
_CONSTANTS = {"null": None, "true": True, "false": False}


def _mapping(function: Callable[[Any], Any]) -> Callable[[], _Filter]:
    """A function of the input alone."""

    def make() -> _Filter:
        def run(value: Any, scope: _Scope) -> Iterator[Any]:
            scope.spend()
            yield function(value)

        return run

    return make


def _with_argument(function: Callable[[Any, Any], Any]) -> Callable[[_Filter], _Filter]:
    """A function of the input and one argument."""

    def make(argument: _Filter) -> _Filter:
        def run(value: Any, scope: _Scope) -> Iterator[Any]:
            for given in argument(value, scope):
                scope.spend()
                yield function(value, given)

        return run

    return make


def _select(test: _Filter) -> _Filter:
    def run(value: Any, scope: _Scope) -> Iterator[Any]:
        for answer in test(value, scope):
            if _is_true(answer):
                yield value

    return run


def _map(inner: _Filter) -> _Filter:
    return _collected(_piped(_each, inner))


def _first(inner: _Filter) -> _Filter:
    def run(value: Any, scope: _Scope) -> Iterator[Any]:
        for item in inner(value, scope):
            yield item
            return

    return run


def _last(inner: _Filter) -> _Filter:
    def run(value: Any, scope: _Scope) -> Iterator[Any]:
        found = list(inner(value, scope))
        if found:
            yield found[-1]

    return run


def _judged(judge: Callable[[Iterator[bool]], bool]) -> Callable[[_Filter], _Filter]:
    def make(test: _Filter) -> _Filter:
        def run(value: Any, scope: _Scope) -> Iterator[Any]:
            yield judge(
                _is_true(answer) for item in _each(value, scope) for answer in test(item, scope)
            )

        return run

    return make


def _sort_by(inner: _Filter) -> _Filter:
    def run(value: Any, scope: _Scope) -> Iterator[Any]:
        yield sorted(_list(value), key=lambda item: [_rank(key) for key in inner(item, scope)])

    return run


def _with_entries(inner: _Filter) -> _Filter:
    def run(value: Any, scope: _Scope) -> Iterator[Any]:
        yield _from_entries(list(_piped(_each, inner)(_entries(value), scope)))

    return run


def _empty() -> _Filter:
    def run(value: Any, scope: _Scope) -> Iterator[Any]:
        return iter(())

    return run


def _error(message: _Filter) -> _Filter:
    def run(value: Any, scope: _Scope) -> Iterator[Any]:
        for text in message(value, scope):
            raise RunError(_text(text))
        return iter(())

    return run


def _list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise RunError(f"{_type(value)} is no array")
    return value


def _string(value: Any) -> str:
    if not isinstance(value, str):
        raise RunError(f"{_type(value)} is no string")
    return value


def _length(value: Any) -> Any:
    if value is None:
        return 0
    if isinstance(value, bool):
        raise RunError("boolean has no length")
    return abs(value) if _is_number(value) else len(value)


def _keys(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return sorted(value)
    return list(range(len(_list(value))))


def _has(value: Any, key: Any) -> bool:
    if isinstance(value, dict) and isinstance(key, str):
        return key in value
    if isinstance(value, list) and _is_number(key):
        return bool(0 <= key < len(value))
    raise RunError(f"cannot check whether {_type(value)} has a key of {_type(key)}")


def _index(value: Any, wanted: Any) -> int | None:
    if isinstance(value, str):
        at = value.find(_string(wanted))
        return at if at >= 0 else None
    if value is None:
        return None
    items = _list(value)
    if isinstance(wanted, list):
        for at in range(len(items) - len(wanted) + 1):
            if wanted and _equal(items[at : at + len(wanted)], wanted):
                return at
        return None
    return next((at for at, item in enumerate(items) if _equal(item, wanted)), None)


def _contains(value: Any, part: Any) -> bool:
    if isinstance(value, dict) and isinstance(part, dict):
        return all(key in value and _contains(value[key], part[key]) for key in part)
    if isinstance(value, list) and isinstance(part, list):
        return all(any(_contains(item, one) for item in value) for one in part)
    if isinstance(value, str) and isinstance(part, str):
        return part in value
    if _type(value) != _type(part):
        raise RunError(f"{_type(value)} and {_type(part)} cannot have their containment checked")
    return _equal(value, part)


def _number(value: Any) -> int | float:
    if _is_number(value):
        return value  # type: ignore[no-any-return] # asked just now
    try:
        return _whole(float(_string(value)))
    except ValueError as error:
        raise RunError(f"{value!r} is no number") from error


def _test(value: Any, pattern: Any) -> bool:
    try:
        return regexp.compile(_string(pattern)).matches(_string(value))
    except regexp.RegexError as error:
        raise RunError(str(error)) from error


def _entries(value: Any) -> list[Any]:
    if not isinstance(value, dict):
        raise RunError(f"{_type(value)} has no keys")
    return [{"key": key, "value": item} for key, item in value.items()]


def _from_entries(value: Any) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for entry in _list(value):
        if not isinstance(entry, dict):
            raise RunError(f"cannot use {_type(entry)} as an entry")
        key = entry.get("key", entry.get("name"))
        made[_text(key)] = entry.get("value")
    return made


def _sum(value: Any) -> Any:
    total = None
    for item in _list(value) if not isinstance(value, dict) else value.values():
        total = _plus(total, item)
    return total


def _unique(value: Any) -> list[Any]:
    found: list[Any] = []
    for item in sorted(_list(value), key=_rank):
        if not found or not _equal(found[-1], item):
            found.append(item)
    return found


_FUNCTIONS: dict[tuple[str, int], Callable[..., _Filter]] = {
    ("not", 0): _mapping(lambda value: not _is_true(value)),
    ("empty", 0): _empty,
    ("error", 1): _error,
    ("length", 0): _mapping(_length),
    ("keys", 0): _mapping(_keys),
    ("type", 0): _mapping(_type),
    ("tostring", 0): _mapping(_text),
    ("tonumber", 0): _mapping(_number),
    ("tojson", 0): _mapping(lambda value: json.dumps(value, separators=(",", ":"))),
    ("add", 0): _mapping(_sum),
    ("first", 0): _mapping(lambda value: _at(_list(value), 0)),
    ("last", 0): _mapping(lambda value: _at(_list(value), -1)),
    ("first", 1): _first,
    ("last", 1): _last,
    ("min", 0): _mapping(lambda value: min(_list(value), key=_rank, default=None)),
    ("max", 0): _mapping(lambda value: max(_list(value), key=_rank, default=None)),
    ("sort", 0): _mapping(lambda value: sorted(_list(value), key=_rank)),
    ("sort_by", 1): _sort_by,
    ("unique", 0): _mapping(_unique),
    ("reverse", 0): _mapping(lambda value: _list(value)[::-1]),
    ("floor", 0): _mapping(lambda value: int(_number(value) // 1)),
    ("any", 0): _mapping(lambda value: any(_is_true(item) for item in _list(value))),
    ("all", 0): _mapping(lambda value: all(_is_true(item) for item in _list(value))),
    ("any", 1): _judged(any),
    ("all", 1): _judged(all),
    ("select", 1): _select,
    ("map", 1): _map,
    ("recurse", 0): lambda: _recursed,
    ("values", 0): lambda: _select(_mapping(lambda value: value is not None)()),
    ("has", 1): _with_argument(_has),
    ("contains", 1): _with_argument(_contains),
    ("inside", 1): _with_argument(lambda value, whole: _contains(whole, value)),
    ("index", 1): _with_argument(_index),
    ("split", 1): _with_argument(lambda value, by: _over(_string(value), _string(by))),
    ("join", 1): _with_argument(
        lambda value, by: _string(by).join(
            "" if item is None else _text(item) for item in _list(value)
        )
    ),
    ("test", 1): _with_argument(_test),
    ("startswith", 1): _with_argument(lambda value, head: _string(value).startswith(_string(head))),
    ("endswith", 1): _with_argument(lambda value, tail: _string(value).endswith(_string(tail))),
    ("ltrimstr", 1): _with_argument(
        lambda value, head: value.removeprefix(_string(head)) if isinstance(value, str) else value
    ),
    ("rtrimstr", 1): _with_argument(
        lambda value, tail: value.removesuffix(_string(tail)) if isinstance(value, str) else value
    ),
    ("ascii_downcase", 0): _mapping(lambda value: _string(value).lower()),
    ("ascii_upcase", 0): _mapping(lambda value: _string(value).upper()),
    ("to_entries", 0): _mapping(_entries),
    ("from_entries", 0): _mapping(_from_entries),
    ("with_entries", 1): _with_entries,
}
