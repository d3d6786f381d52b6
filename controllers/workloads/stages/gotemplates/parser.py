"""Parses the pieces of a template into nodes, and checks variables and functions.

Follows text/template/parse/parse.go.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any

from inkube.controllers.workloads.stages.gotemplates.functions import Function
from inkube.controllers.workloads.stages.gotemplates.lexer import Lexeme, pieces, tokenize
from inkube.controllers.workloads.stages.gotemplates.nodes import (
    Action,
    Break,
    Continue,
    If,
    Jump,
    Node,
    Nodes,
    Pipeline,
    Range,
    State,
    Text,
    Value,
    With,
)
from inkube.controllers.workloads.stages.gotemplates.values import (
    DEEPEST,
    STEPS,
    RunError,
    TemplateError,
    is_true,
)
from inkube.formats import gotext

_UNSUPPORTED = frozenset({"define", "template", "block"})
_CONSTANTS = {"true": True, "false": False, "nil": None}


class Parser:
    """Parses a template into nodes; checks variables and functions."""

    def __init__(self, text: str, functions: Mapping[str, Function]) -> None:
        self._pieces = list(pieces(text))
        self._at = 0
        self._functions = functions
        self._variables: list[set[str]] = [{"$"}]
        self._loops = 0

    def whole(self) -> Nodes:
        """Parse the whole template. Raises TemplateError."""
        nodes, end = self._nodes()
        if end:
            raise TemplateError(f"unexpected {{{{{end}}}}}")
        return nodes

    def _nodes(self) -> tuple[Nodes, str]:
        """Return the nodes before the next `end` or `else …`, and its text ("" at the end of the
        text)."""
        found: list[Node] = []
        while self._at < len(self._pieces):
            kind, text = self._pieces[self._at]
            self._at += 1
            if kind == "text":
                found.append(Text(text))
                continue
            word = text.split(maxsplit=1)[0] if text else ""
            if word in ("end", "else"):
                return Nodes(found), text
            found.append(self._action(word, text))
        return Nodes(found), ""

    def _action(self, word: str, text: str) -> Node:
        if word in _UNSUPPORTED:
            raise TemplateError(f"not supported: {{{{{word}}}}}")
        if word in ("if", "with", "range"):
            return self._block(word, text[len(word) :])
        if word in ("break", "continue"):
            if not self._loops:
                raise TemplateError(f"{{{{{word}}}}} outside {{{{range}}}}")
            return Jump(Break if word == "break" else Continue)
        return Action(self._pipeline(text))

    def _block(self, word: str, text: str) -> Node:
        if len(self._variables) > DEEPEST:
            raise TemplateError(f"blocks nest at most {DEEPEST} deep")
        self._variables.append(set())
        self._loops += word == "range"
        pipeline = self._pipeline(text, of_range=word == "range")
        body, end = self._nodes()
        self._loops -= word == "range"
        other = Nodes([])
        if end.startswith("else"):
            rest = end[4:].strip()
            inner = rest.split(maxsplit=1)[0] if rest else ""
            if rest and inner != word:
                raise TemplateError(f"unexpected {{{{{end}}}}}")
            if rest:
                other = Nodes([self._block(word, rest[len(inner) :])])
                end = "end"
            else:
                other, end = self._nodes()
        if end != "end":
            raise TemplateError(f"{{{{{word}}}}} without {{{{end}}}}")
        self._variables.pop()
        made = {"if": If, "with": With, "range": Range}[word]
        return made(pipeline, body, other)

    def _pipeline(self, text: str, *, of_range: bool = False) -> Pipeline:
        lexemes = tokenize(text)
        names: list[str] = []
        at = 0
        if of_range and [one.text for one in lexemes[1:2]] == [","]:
            names.append(lexemes[0].text)
            at = 2
        declares = False
        if len(lexemes) > at + 1 and lexemes[at + 1].text in (":=", "="):
            if lexemes[at].kind != "variable":
                raise TemplateError(f"{lexemes[at].text} is not a variable in {text.strip()!r}")
            names.append(lexemes[at].text)
            declares = lexemes[at + 1].text == ":="
            at += 2
        expression = Expression(lexemes[at:], text, self._functions, self._check_variable)
        run = expression.whole()
        for name in names:
            if declares:
                self._variables[-1].add(name)
            else:
                self._check_variable(name)
        return Pipeline(run, tuple(names), declares)

    def _check_variable(self, name: str) -> None:
        if not any(name in scope for scope in self._variables):
            raise TemplateError(f"undefined variable {name!r}")


class Expression:
    """Compiles the lexemes of one pipeline."""

    def __init__(
        self,
        lexemes: list[Lexeme],
        text: str,
        functions: Mapping[str, Function],
        check_variable: Callable[[str], None],
    ) -> None:
        self._lexemes = lexemes
        self._text = text.strip()
        self._functions = functions
        self._check_variable = check_variable
        self._at = 0
        self._depth = 0

    def whole(self) -> Value:
        """Compile the whole pipeline. Raises TemplateError."""
        found = self._pipe()
        if self._at < len(self._lexemes):
            raise TemplateError(f"unexpected {self._lexemes[self._at].text!r} in {self._text!r}")
        return found

    def _peek(self) -> Lexeme | None:
        return self._lexemes[self._at] if self._at < len(self._lexemes) else None

    def _pipe(self) -> Value:
        self._depth += 1
        if self._depth > DEEPEST:
            raise TemplateError(f"brackets nest at most {DEEPEST} deep")
        found = self._command(None)
        while (lexeme := self._peek()) is not None and lexeme.text == "|":
            self._at += 1
            found = self._command(found)
        self._depth -= 1
        return found

    def _command(self, last: Value | None) -> Value:
        """Return a function with its arguments, or a value. `last` is the value
        before `|`, if any."""
        lexeme = self._peek()
        if lexeme is None or lexeme.text in (")", "|"):
            raise TemplateError(f"missing value in {self._text!r}")
        if lexeme.kind == "word" and lexeme.text not in _CONSTANTS:
            self._at += 1
            return self._call(lexeme.text, last)
        found = self._operand()
        following = self._peek()
        if last is not None or (following is not None and following.text not in (")", "|")):
            raise TemplateError(f"not supported: arguments for a value in {self._text!r}")
        return found

    def _call(self, name: str, last: Value | None) -> Value:
        function = self._functions.get(name)
        if function is None and name not in ("and", "or"):
            raise TemplateError(f'function "{name}" not defined')
        arguments: list[Value] = []
        while (lexeme := self._peek()) is not None and lexeme.text not in (")", "|"):
            arguments.append(self._operand())
        if last is not None:
            arguments.append(last)
        if function is None:
            return _shortcut(arguments, ends=name == "or", text=self._text)

        def run(state: State, dot: Any) -> Any:
            state.step()
            values = [argument(state, dot) for argument in arguments]
            try:
                found = function(*values)
                state.step(_weight(found))
                return found
            except RunError as error:
                raise RunError(f"error calling {name}: {error}") from error
            except (TypeError, ValueError, LookupError, ArithmeticError, AttributeError) as error:
                raise RunError(f"error calling {name}: {error}") from error

        return run

    def _operand(self) -> Value:
        lexeme = self._lexemes[self._at]
        self._at += 1
        found = self._term(lexeme)
        while (after := self._peek()) is not None and after.kind == "field" and after.glued:
            self._at += 1
            found = _field(found, after.text[1:])
        return found

    def _term(self, lexeme: Lexeme) -> Value:
        kind, text = lexeme.kind, lexeme.text
        if kind == "field":
            return _field(_dot, text[1:])
        if kind == "variable":
            self._check_variable(text)
            return lambda state, dot: state.variable(text)
        if kind == "word" and text in _CONSTANTS:
            return _constant(_CONSTANTS[text])
        if kind == "word":
            function = self._functions.get(text)
            if function is None:
                raise TemplateError(f'function "{text}" not defined')
            return lambda state, dot: function()
        if kind in ("string", "number", "char"):
            return _constant(_literal(kind, text))
        if text == ".":
            return _dot
        if text == "(":
            found = self._pipe()
            closing = self._peek()
            if closing is None or closing.text != ")":
                raise TemplateError(f"unclosed left paren in {self._text!r}")
            self._at += 1
            return found
        raise TemplateError(f"unexpected {text!r} in {self._text!r}")


def _weight(value: Any) -> int:
    """Return the steps that a result costs, by its size, so that a few calls cannot fill the
    memory."""
    if isinstance(value, str):
        return len(value) // 64
    total, left = 0, [value]
    while left and total <= STEPS:
        item = left.pop()
        total += 1
        if isinstance(item, dict):
            left.extend(item.values())
        elif isinstance(item, list):
            left.extend(item)
        elif isinstance(item, str):
            total += len(item) // 64
    return total


def _dot(state: State, dot: Any) -> Any:
    return dot


def _constant(value: Any) -> Value:
    return lambda state, dot: value


def _literal(kind: str, text: str) -> Any:
    if kind == "number":
        whole = text.lstrip("+-")
        if whole[:2].lower() == "0x":
            return int(text, 16)
        return int(text) if whole.isdigit() else float(text)
    if text[0] == "`":
        return text[1:-1]
    inner = text[1:-1]
    try:
        found = json.loads(f'"{inner}"' if kind == "string" else json.dumps(inner))
    except ValueError as error:
        raise TemplateError(f"a bad string: {text}") from error
    return found if kind == "string" else ord(found[-1])


def _field(base: Value, name: str) -> Value:
    """Return the value of a member of a map. A member of nil is an error, like in Go."""

    def run(state: State, dot: Any) -> Any:
        value = base(state, dot)
        if isinstance(value, dict):
            return value.get(name)
        if value is None:
            raise RunError(f"nil pointer evaluating interface {{}}.{name}")
        raise RunError(f"can't evaluate field {name} in type {gotext.json_kind(value)}")

    return run


def _shortcut(arguments: list[Value], *, ends: bool, text: str) -> Value:
    """Return a value for `and` or `or`: the first argument that decides the result, otherwise the
    last one. `ends` is the truth that decides."""
    if not arguments:
        raise TemplateError(f"wrong number of args for {'or' if ends else 'and'} in {text!r}")

    def run(state: State, dot: Any) -> Any:
        state.step()
        found = None
        for argument in arguments:
            found = argument(state, dot)
            if is_true(found) is ends:
                break
        return found

    return run
