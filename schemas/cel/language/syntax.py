"""Texts of syntax errors, as from the parser that ANTLR generates from cel-go's grammar.

This is a second parser, for texts that did not parse: it walks the grammar as ANTLR's generated
code does, with its prediction, its repair of single tokens and its recovery
(antlr4 DefaultErrorStrategy, ParserATNSimulator), and collects the reported errors.

kube-apiserver returns these texts, and no library has them. Measured: antlr4-python3-runtime with a
parser generated from the same grammar gives other errors for 5 of 100 random invalid texts
(those with a dangling `!`), takes 0.09 s to import and three times as long for a text, and has
11,800 lines and 2,600 generated ones. This module agrees with ANTLR's C++ runtime, which the tests
use, on all but 4 of 16,000 texts.
"""

from collections.abc import Iterator

from inkube.schemas import caches
from inkube.schemas.cel.language.grammar import (  # fmt: skip
    END,
    RULES,
    TOKENS,
    Apply,
    Choice,
    Element,
    Graph,
    Loop,
    Match,
    Maybe,
    Sequence,
    State,
)
from inkube.schemas.cel.language.lexer import EOF, Token, readable
from inkube.schemas.cel.language.source import Issue
from inkube.schemas.lazyproperty import cached_property

_MOST_REPAIRS = 30
"""The most recoveries from errors (cel-go's errorRecoveryLimit)."""
_RESERVED = frozenset({"true", "false", "null"})
_UNQUOTED = frozenset(
    {
        EOF, "NUM_FLOAT", "NUM_INT", "NUM_UINT", "STRING", "BYTES", "IDENTIFIER",
        "ESC_IDENTIFIER",
    }
)  # fmt: skip


def issues(text: str, tokens: list[Token]) -> list[Issue]:
    """Return all errors that ANTLR reports for tokens that are not an expression."""
    walker = _Walker(text, tokens)
    try:
        walker.rule("start", 0)
    except _TooManyErrors:
        pass
    except RecursionError:
        walker.issues.append(Issue(0, "expression recursion limit exceeded: 250"))
    return walker.issues


@caches.of_values(1)
def _graph() -> Graph:
    return Graph()


class _TooManyErrors(Exception):
    """Raised after too many errors."""


class _Mismatch(Exception):
    """The rule cannot continue; `message` is the error at `pos`."""

    def __init__(self, pos: int, message: str) -> None:
        super().__init__(message)
        self.pos = pos
        self.message = message


class _Walker:
    def __init__(self, text: str, tokens: list[Token]) -> None:
        self.issues: list[Issue] = []
        self._text = text
        self._tokens = tokens
        self._graph = _graph()
        self._at = 0
        self._state: State = 0
        self._after: list[State] = []
        """The states in which the callers of the current rule continue."""
        self._is_recovering = False
        self._repairs = 0
        self._last_error = -1
        self._error_states: set[State] = set()

    def rule(self, name: str, precedence: int) -> None:
        """Walk a rule; reports its errors and recovers from them."""
        try:
            self._element(RULES[name], precedence)
        except _Mismatch as error:
            self._report(error.pos, error.message)
            self._recover()

    def _element(self, element: Element, precedence: int) -> None:
        match element:
            case Sequence():
                for part in element.parts:
                    self._element(part, precedence)
            case Match():
                self._match(element)
            case Apply():
                self._state = element.start
                self._after.append(element.end)
                self.rule(element.rule, element.precedence)
                self._after.pop()
            case Choice():
                self._state = element.start
                self._sync()
                self._element(element.options[self._predict(element.options, None)], precedence)
            case Maybe():
                self._state = element.start
                self._sync()
                if self._ahead() in self._graph.following(element.part.start):
                    self._element(element.part, precedence)
            case Loop():
                self._loop(element, precedence)

    def _loop(self, element: Loop, precedence: int) -> None:
        self._state = element.start
        if element.is_plus:
            self._element(element.options[0], precedence)
            self._state = element.back
        self._sync(is_back=element.is_plus)
        while (chosen := self._turn(element, precedence)) is not None:
            self._element(element.options[chosen], precedence)
            self._state = element.back
            self._sync(is_back=True)

    def _turn(self, element: Loop, precedence: int) -> int | None:
        """Return the option of the next turn, or None to leave the loop."""
        bars = element.precedences or (0,) * len(element.options)
        options = [
            option
            for option, bar in zip(element.options, bars, strict=True)
            if not element.precedences or bar >= precedence
        ]
        if not options:
            return None
        chosen = self._predict(tuple(options), element)
        return None if chosen == len(options) else element.options.index(options[chosen])

    def _ahead(self, distance: int = 0) -> str:
        return self._token(distance).kind

    def _token(self, distance: int = 0) -> Token:
        return self._tokens[min(self._at + distance, len(self._tokens) - 1)]

    def _consume(self) -> None:
        if self._ahead() != EOF:
            self._at += 1

    def _match(self, element: Match) -> None:
        self._state = element.start
        if self._ahead() in element.kinds:
            self._is_recovering = False
            self._consume()
            return
        self._count_repair()
        if self._delete_token():
            self._consume()
        elif not self._insert_token(element):
            raise self._mismatch()

    def _mismatch(self) -> _Mismatch:
        token = self._token()
        message = f"mismatched input {_quoted(token.text)} expecting {self._expected_text()}"
        return _Mismatch(token.pos, message)

    def _delete_token(self) -> bool:
        """Skip a superfluous token if the next one fits; returns whether it did."""
        if self._ahead(1) not in self._expected(self._state):
            return False
        if not self._is_recovering:
            self._is_recovering = True
            token = self._token()
            expected = self._expected_text()
            self._notify(token.pos, f"extraneous input {_quoted(token.text)} expecting {expected}")
        self._consume()
        self._is_recovering = False
        return True

    def _insert_token(self, element: Match) -> bool:
        """Report a missing token if the current one fits after it; returns whether it does."""
        if self._ahead() not in self._expected(element.end):
            return False
        if not self._is_recovering:
            self._is_recovering = True
            token = self._token()
            self._notify(token.pos, f"missing {self._expected_text()} at {_quoted(token.text)}")
        return True

    def _sync(self, *, is_back: bool = False) -> None:
        """Before a decision: skip one token, or all tokens that cannot start a loop."""
        if self._is_recovering:
            return
        following = self._graph.following(self._state)
        if END in following or self._ahead() in following:
            return
        if not is_back:
            if not self._delete_token():
                raise self._mismatch()
            return
        token = self._token()
        expected = self._expected_text()
        self._is_recovering = True
        self._notify(token.pos, f"extraneous input {_quoted(token.text)} expecting {expected}")
        self._consume_until(self._expected(self._state) | self._recovery_set())

    def _recover(self) -> None:
        self._count_repair()
        if self._last_error == self._at and self._state in self._error_states:
            self._consume()
        self._last_error = self._at
        self._error_states.add(self._state)
        self._consume_until(self._recovery_set())

    def _count_repair(self) -> None:
        if self._repairs == _MOST_REPAIRS:
            message = f"error recovery attempt limit exceeded: {_MOST_REPAIRS}"
            self._notify(self._token().pos, message)
            raise _TooManyErrors
        self._repairs += 1

    def _consume_until(self, kinds: frozenset[str]) -> None:
        while self._ahead() != EOF and self._ahead() not in kinds:
            self._consume()

    def _recovery_set(self) -> frozenset[str]:
        kinds: frozenset[str] = frozenset()
        for state in self._after:
            kinds |= self._graph.following(state)
        return kinds - {END}

    def _expected(self, state: State) -> frozenset[str]:
        """Return the possible next tokens, with those of the calling rules if this rule can end."""
        kinds = self._graph.following(state)
        for above in reversed(self._after):
            if END not in kinds:
                return kinds
            kinds = (kinds - {END}) | self._graph.following(above)
        return (kinds - {END}) | {EOF} if END in kinds else kinds

    def _expected_text(self) -> str:
        kinds = sorted(self._expected(self._state), key=TOKENS.index)
        names = [kind if kind in _UNQUOTED else f"'{kind}'" for kind in kinds]
        return names[0] if len(names) == 1 else f"{{{', '.join(names)}}}"

    def _report(self, pos: int, message: str) -> None:
        if not self._is_recovering:
            self._is_recovering = True
            self._notify(pos, message)

    def _notify(self, pos: int, message: str) -> None:
        self.issues.append(Issue(pos, f"Syntax error: {message}"))

    def _predict(self, options: tuple[Element, ...], loop: Loop | None) -> int:
        """Return the index of the option that fits the next tokens; len(options): leave the
        loop."""
        starts = [option.start for option in options]
        if loop is not None:
            starts.append(loop.end)
        view = _first_view(tuple(starts))
        for distance in range(len(self._tokens) - self._at + 1):
            kind = self._ahead(distance)
            after = view.read(kind)
            if not after.options:
                return self._finished(view, distance)
            if after.is_decided or kind == EOF:
                return min(after.options)
            view = after
        return min(view.options)

    def _finished(self, view: "_View", distance: int) -> int:
        """Return the option that left the rule before the tokens stopped fitting."""
        if view.outside is not None:
            return view.outside
        first, token = self._token(), self._token(distance)
        text = EOF if first.kind == EOF else readable(self._text[first.pos : _end(token)])
        if text.startswith(".") and text[1:] in _RESERVED:
            raise _Mismatch(token.pos, f"mismatched input '{text[1:]}' expecting IDENTIFIER")
        raise _Mismatch(token.pos, f"no viable alternative at input {_quoted(text)}")


def _end(token: Token) -> int:
    return token.pos if token.kind == EOF else token.pos + len(token.text)


def _quoted(text: str) -> str:
    escaped = text.replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t")
    return f"'{escaped}'"


_Config = tuple[State, tuple[State, ...], bool]
"""A state, the states after the entered rules, and whether the rule of the decision was left."""


class _View:
    """The possible states of the options of a decision, some tokens ahead; views are cached."""

    def __init__(self, options: dict[int, frozenset[_Config]]) -> None:
        self.options = options
        self._next: dict[str, _View] = {}

    @cached_property
    def is_decided(self) -> bool:
        """Whether one option remains, or all remaining options have the same states."""
        first, *others = ({config[:2] for config in states} for states in self.options.values())
        return all(states == first for states in others)

    @cached_property
    def outside(self) -> int | None:
        """The first option that left the rule of the decision."""
        left = (
            place
            for place, states in self.options.items()
            if any(is_outside for _, _, is_outside in states)
        )
        return min(left, default=None)

    def read(self, kind: str) -> "_View":
        """Return the view of the remaining options after a token."""
        if kind not in self._next:
            moved = {place: _moved(states, kind) for place, states in self.options.items()}
            left = tuple((place, configs) for place, configs in moved.items() if configs)
            self._next[kind] = _view(left)
        return self._next[kind]


@caches.of_values(256)
def _first_view(starts: tuple[State, ...]) -> _View:
    return _view(
        tuple((place, _closure({(start, (), False)})) for place, start in enumerate(starts))
    )


@caches.of_values(4096)
def _view(options: tuple[tuple[int, frozenset[_Config]], ...]) -> _View:
    """Return the view for these options; equal options share one, because loops return to it."""
    return _View(dict(options))


def _closure(configs: set[_Config]) -> frozenset[_Config]:
    """Return all configurations that are reachable without reading a token."""
    closure: set[_Config] = set()
    pending = list(configs)
    while pending:
        config = pending.pop()
        if config not in closure:
            closure.add(config)
            pending.extend(_steps(config))
    return frozenset(closure)


def _steps(config: _Config) -> Iterator[_Config]:
    """Yield the configurations after one step without a token."""
    graph = _graph()
    state, stack, is_outside = config
    for target in graph.free.get(state, ()):
        yield target, stack, is_outside
    if state in graph.calls:
        name, after = graph.calls[state]
        yield graph.first[name], (*stack, after), is_outside
    if state in graph.ends:
        if stack:
            yield stack[-1], stack[:-1], is_outside
        else:
            yield from ((after, (), True) for after in graph.callers(state))


def _moved(configs: frozenset[_Config], kind: str) -> frozenset[_Config]:
    """Return the configurations after reading a token."""
    tokens = _graph().tokens
    reached = {
        (tokens[state][1], stack, is_outside)
        for state, stack, is_outside in configs
        if state in tokens and kind in tokens[state][0]
    }
    return _closure(reached)
