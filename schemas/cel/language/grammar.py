"""The grammar of cel-go (parser/gen/CEL.g4) as a graph of states, for the texts of syntax errors.

`parser` does not use it. Each element has the state before it, and a state has the possible next
tokens. The order of `TOKENS` is that of expected tokens in texts of ANTLR.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from inkube.schemas.cel.language.lexer import EOF

TOKENS: Final = (
    EOF, "==", "!=", "in", "<", "<=", ">=", ">", "&&", "||", "[", "]", "{", "}", "(", ")", ".",
    ",", "-", "!", "?", ":", "+", "*", "/", "%", "true", "false", "null", "NUM_FLOAT", "NUM_INT",
    "NUM_UINT", "STRING", "BYTES", "IDENTIFIER", "ESC_IDENTIFIER",
)  # fmt: skip

State = int
END: Final = "end of rule"
"""The item in the result of `following` if a rule can end."""


@dataclass(slots=True, eq=False)
class Element:
    """A part of a rule; `start` and `end` are its states."""

    start: State = field(default=-1, init=False)
    end: State = field(default=-1, init=False)


@dataclass(slots=True, eq=False)
class Match(Element):
    """One token of a set."""

    kinds: frozenset[str]


@dataclass(slots=True, eq=False)
class Apply(Element):
    """Another rule, for operators with a minimum precedence."""

    rule: str
    precedence: int = 0


@dataclass(slots=True, eq=False)
class Sequence(Element):
    """Parts one after the other."""

    parts: tuple[Element, ...]


@dataclass(slots=True, eq=False)
class Choice(Element):
    """One of several elements."""

    options: tuple[Element, ...]


@dataclass(slots=True, eq=False)
class Maybe(Element):
    """An optional part."""

    part: Element


@dataclass(slots=True, eq=False)
class Loop(Element):
    """The parts any number of times, at least once if `is_plus`; one precedence per option."""

    options: tuple[Element, ...]
    precedences: tuple[int, ...] = ()
    is_plus: bool = False
    back: State = field(default=-1, init=False)


def _match(*kinds: str) -> Match:
    return Match(frozenset(kinds))


def _all(*parts: Element | str) -> Sequence:
    return Sequence(tuple(_match(part) if isinstance(part, str) else part for part in parts))


def _comma_separated(*parts: Element | str) -> Sequence:
    return _all(*parts, Loop((_all(",", *_copies(parts)),)))


def _copies(parts: tuple[Element | str, ...]) -> list[Element | str]:
    """Return copies of elements, with separate states."""
    copies: list[Element | str] = []
    for part in parts:
        match part:
            case Apply():
                copies.append(Apply(part.rule, part.precedence))
            case Maybe():
                copies.append(Maybe(_match("?")))
            case _:
                copies.append(part)
    return copies


def _operand(kinds: tuple[str, ...], rule: str, precedence: int) -> Sequence:
    return _all(_match(*kinds), Apply(rule, precedence))


def _name() -> Sequence:
    return _all(Maybe(_match(".")), "IDENTIFIER")


def _call() -> list[Element | str]:
    return ["(", Maybe(Apply("exprList")), ")"]


_RELATIONS = ("<", "<=", ">=", ">", "==", "!=", "in")
RULES: Final[dict[str, Element]] = {
    "start": _all(Apply("expr"), EOF),
    "expr": _all(
        Apply("conditionalOr"), Maybe(_all("?", Apply("conditionalOr"), ":", Apply("expr")))
    ),
    "conditionalOr": _all(
        Apply("conditionalAnd"), Loop((_all("||", Apply("conditionalAnd")),))
    ),
    "conditionalAnd": _all(Apply("relation"), Loop((_all("&&", Apply("relation")),))),
    "relation": _all(Apply("calc"), Loop((_operand(_RELATIONS, "relation", 2),), (1,))),
    "calc": _all(
        Apply("unary"),
        Loop((_operand(("*", "/", "%"), "calc", 3), _operand(("+", "-"), "calc", 2)), (2, 1)),
    ),
    "unary": Choice(
        (
            Apply("member"),
            _all(Loop((_all("!"),), is_plus=True), Apply("member")),
            _all(Loop((_all("-"),), is_plus=True), Apply("member")),
        )
    ),
    "member": _all(
        Apply("primary"),
        Loop(
            (
                _all(".", Maybe(_match("?")), Apply("escapeIdent")),
                _all(".", "IDENTIFIER", *_call()),
                _all("[", Maybe(_match("?")), Apply("expr"), "]"),
            ),
            (3, 2, 1),
        ),
    ),
    "primary": Choice(
        (
            _name(),
            _all(_name(), *_call()),
            _all("(", Apply("expr"), ")"),
            _all("[", Maybe(Apply("listInit")), Maybe(_match(",")), "]"),
            _all("{", Maybe(Apply("mapInitializerList")), Maybe(_match(",")), "}"),
            _all(
                _name(), Loop((_all(".", "IDENTIFIER"),)), "{",
                Maybe(Apply("fieldInitializerList")), Maybe(_match(",")), "}",
            ),
            Apply("literal"),
        )
    ),
    "exprList": _comma_separated(Apply("expr")),
    "listInit": _comma_separated(Apply("optExpr")),
    "fieldInitializerList": _comma_separated(Apply("optField"), ":", Apply("expr")),
    "optField": _all(Maybe(_match("?")), Apply("escapeIdent")),
    "mapInitializerList": _comma_separated(Apply("optExpr"), ":", Apply("expr")),
    "escapeIdent": Choice((_all("IDENTIFIER"), _all("ESC_IDENTIFIER"))),
    "optExpr": _all(Maybe(_match("?")), Apply("expr")),
    "literal": Choice(
        (
            _all(Maybe(_match("-")), "NUM_INT"),
            _all("NUM_UINT"),
            _all(Maybe(_match("-")), "NUM_FLOAT"),
            *(_all(kind) for kind in ("STRING", "BYTES", "true", "false", "null")),
        )
    ),
}  # fmt: skip


class Graph:
    """The states of all rules, and the transitions between them."""

    def __init__(self) -> None:
        self.free: dict[State, list[State]] = {}
        self.tokens: dict[State, tuple[frozenset[str], State]] = {}
        self.calls: dict[State, tuple[str, State]] = {}
        self.first: dict[str, State] = {}
        self.ends: dict[State, str] = {}
        self._count = 0
        self._next_memo: dict[State, frozenset[str]] = {}
        for name, element in RULES.items():
            self.first[name], last = self._new(), self._new()
            self.ends[last] = name
            self._link(self.first[name], element)
            self._free(element.end, last)

    def following(self, state: State) -> frozenset[str]:
        """Return the possible next tokens in the rule, and END if it can end (ATN.NextTokens)."""
        if state not in self._next_memo:
            self._next_memo[state] = frozenset(self._look(state, set()))
        return self._next_memo[state]

    def callers(self, state: State) -> list[State]:
        """Return the states after all calls of the rule that ends in `state`."""
        return [after for name, after in self.calls.values() if name == self.ends[state]]

    def _look(self, state: State, seen: set[State]) -> Iterator[str]:
        if state in seen:
            return
        seen.add(state)
        if state in self.tokens:
            yield from self.tokens[state][0]
        if state in self.calls:
            name, _ = self.calls[state]
            yield from self._look(self.first[name], seen)
        if state in self.ends:
            yield END
        for target in self.free.get(state, ()):
            yield from (kind for kind in self._look(target, seen))

    def _new(self) -> State:
        self._count += 1
        return self._count

    def _free(self, source: State, target: State) -> None:
        self.free.setdefault(source, []).append(target)

    def _link(self, before: State, element: Element, end: State | None = None) -> None:
        """The states of an element. Parts at the end of the whole share its `end`, as in
        ANTLR (TailEpsilonRemover), so options with equal tokens have equal states."""
        element.start, element.end = self._new(), self._new() if end is None else end
        self._free(before, element.start)
        match element:
            case Match():
                self.tokens[element.start] = (element.kinds, element.end)
            case Apply():
                self.calls[element.start] = (element.rule, element.end)
            case Sequence():
                self._chain(element)
            case Choice():
                for option in element.options:
                    self._link(element.start, option, element.end)
            case Maybe():
                self._link(element.start, element.part)
                self._free(element.part.end, element.end)
                self._free(element.start, element.end)
            case Loop():
                self._loop(element)

    def _chain(self, element: Sequence) -> None:
        *others, last = element.parts
        place = element.start
        for part in others:
            self._link(place, part)
            place = part.end
        self._link(place, last, element.end)

    def _loop(self, element: Loop) -> None:
        element.back = self._new()
        for option in element.options:
            self._link(element.start, option, element.back)
        if element.is_plus:
            self._free(element.back, element.start)
            self._free(element.back, element.end)
        else:
            self._free(element.back, element.start)
            self._free(element.start, element.end)
