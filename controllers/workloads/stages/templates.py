"""Go's text/template, as far as stages use it: text in, a function of an object out.

    template = templates.compile("phase: {{ .status.phase | Quote }}", {"Quote": quote})
    template.render(pod)

Actions: pipelines, variables and their assignment, `if`/`else if`, `with`, `range` (with `else`,
`break`, `continue`), comments, trim markers. Functions: those given, beside Go's own (`_BUILTIN`).
`define`, `template`, `block` and methods of values are refused when the template is compiled,
unknown functions too: never in the middle of a run. A run is bounded by `STEPS` and `LONGEST`.
Follows text/template/{parse,exec,funcs}.go; values are those of JSON, so a map is a dict.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from inkube.schemas.golang import gotext

STEPS = 100_000
"""Nodes that one run may visit."""
LONGEST = 1024 * 1024
"""Characters that one run may write, or a template may have."""
DEEPEST = 100
"""Blocks or brackets within each other."""

Function = Callable[..., Any]


class TemplateError(ValueError):
    """The template cannot be read, or asks for what is not supported."""


class RunError(Exception):
    """The template does not fit the object it is rendered for."""


class _Break(Exception):
    pass


class _Continue(Exception):
    pass


class Template:
    """A compiled template."""

    def __init__(self, text: str, root: "_Nodes") -> None:
        self.text = text
        self._root = root

    def render(self, value: Any) -> str:
        """The text for a JSON value. Raises RunError."""
        state = _State(value)
        try:
            self._root.write(state, value)
        except RecursionError as error:
            raise RunError("the template nests too deep") from error
        return "".join(state.output)


def compile(text: str, functions: Mapping[str, Function] | None = None) -> Template:  # noqa: A001
    """The template of a text; `functions` may be called in it. Raises TemplateError."""
    if len(text) > LONGEST:
        raise TemplateError(f"a template has at most {LONGEST} characters")
    return Template(text, _Parser(text, {**_BUILTIN, **(functions or {})}).whole())


class _State:
    """Output and variables of one run."""

    def __init__(self, root: Any) -> None:
        self.output: list[str] = []
        self.scopes: list[dict[str, Any]] = [{"$": root}]
        self._left = STEPS
        self._room = LONGEST

    def step(self, steps: int = 1) -> None:
        self._left -= steps
        if self._left < 0:
            raise RunError(f"the template takes more than {STEPS} steps")

    def emit(self, text: str) -> None:
        self._room -= len(text)
        if self._room < 0:
            raise RunError(f"the template writes more than {LONGEST} characters")
        self.output.append(text)

    def find(self, name: str) -> Any:
        for scope in reversed(self.scopes):
            if name in scope:
                return scope[name]
        raise RunError(f"undefined variable {name}")

    def assign(self, name: str, value: Any) -> None:
        for scope in reversed(self.scopes):
            if name in scope:
                scope[name] = value
                return
        raise RunError(f"undefined variable {name}")


# What an action is made of. `write` puts out, `value` computes.


class _Node:
    def write(self, state: _State, dot: Any) -> None:
        raise NotImplementedError


class _Nodes(_Node):
    def __init__(self, nodes: list[_Node]) -> None:
        self._nodes = nodes

    def write(self, state: _State, dot: Any) -> None:
        for node in self._nodes:
            state.step()
            node.write(state, dot)

    def scoped(self, state: _State, dot: Any, variables: dict[str, Any] | None = None) -> None:
        """Write with variables of its own."""
        state.scopes.append(variables or {})
        try:
            self.write(state, dot)
        finally:
            state.scopes.pop()


class _Text(_Node):
    def __init__(self, text: str) -> None:
        self._text = text

    def write(self, state: _State, dot: Any) -> None:
        state.emit(self._text)


class _Jump(_Node):
    def __init__(self, signal: type[Exception]) -> None:
        self._signal = signal

    def write(self, state: _State, dot: Any) -> None:
        raise self._signal


_Value = Callable[[_State, Any], Any]


class _Pipeline(NamedTuple):
    """Commands, and the variables that take the result."""

    run: _Value
    names: tuple[str, ...] = ()
    declares: bool = False

    def value(self, state: _State, dot: Any) -> Any:
        """Compute, and set the variable if there is one."""
        found = self.run(state, dot)
        for name in self.names:
            if self.declares:
                state.scopes[-1][name] = found
            else:
                state.assign(name, found)
        return found


class _Action(_Node):
    def __init__(self, pipeline: _Pipeline) -> None:
        self._pipeline = pipeline

    def write(self, state: _State, dot: Any) -> None:
        found = self._pipeline.value(state, dot)
        if not self._pipeline.names:
            state.emit(printed(found))


class _If(_Node):
    def __init__(self, pipeline: _Pipeline, body: _Nodes, other: _Nodes) -> None:
        self._pipeline, self._body, self._other = pipeline, body, other

    def write(self, state: _State, dot: Any) -> None:
        state.scopes.append({})
        try:
            chosen = self._body if is_true(self._pipeline.value(state, dot)) else self._other
            chosen.scoped(state, dot)
        finally:
            state.scopes.pop()


class _With(_If):
    def write(self, state: _State, dot: Any) -> None:
        state.scopes.append({})
        try:
            found = self._pipeline.value(state, dot)
            if is_true(found):
                self._body.scoped(state, found)
            else:
                self._other.scoped(state, dot)
        finally:
            state.scopes.pop()


class _Range(_If):
    def write(self, state: _State, dot: Any) -> None:
        over = self._pipeline.run(state, dot)
        any_item = False
        for key, item in _items(over):
            any_item = True
            state.step()
            names = self._pipeline.names
            values = (item,) if len(names) == 1 else (key, item)
            if not self._pipeline.declares:
                for name, one in zip(names, values, strict=False):
                    state.assign(name, one)
                names = ()
            try:
                self._body.scoped(state, item, dict(zip(names, values, strict=False)))
            except _Break:
                break
            except _Continue:
                continue
        if not any_item:
            self._other.scoped(state, dot)


def _items(over: Any) -> Iterator[tuple[Any, Any]]:
    """Index or key, and value; maps in the order of their keys, as Go ranges them."""
    if over is None:
        return iter(())
    if isinstance(over, dict):
        return iter(sorted(over.items()))
    if isinstance(over, list):
        return iter(enumerate(over))
    if _is_int(over):
        return ((number, number) for number in range(over))
    raise RunError(f"range can't iterate over {printed(over)}")


# What stands in an action: texts as a whole, so that braces in them end nothing.
_INNER = re.compile(
    r"""(?:"(?:[^"\\\n]|\\.)*+"|`[^`]*+`|'(?:[^'\\\n]|\\.)*+'|[^"`'}]|\}(?!\}))*+""", re.DOTALL
)
_COMMENT = re.compile(r"-?\s*/\*.*?\*/\s*-?", re.DOTALL)
_LEXEMES = re.compile(
    r"""(?P<space>\s+)
    |(?P<string>"(?:[^"\\\n]|\\.)*"|`[^`]*`)
    |(?P<char>'(?:[^'\\\n]|\\.)')
    |(?P<number>[+-]?(?:0[xX][0-9a-fA-F]+|\d+(?:\.\d*)?(?:[eE][+-]?\d+)?|\.\d+))
    |(?P<variable>\$\w*)
    |(?P<field>\.[A-Za-z_]\w*)
    |(?P<word>[A-Za-z_]\w*)
    |(?P<symbol>:=|[.()|,=])""",
    re.VERBOSE,
)
_UNSUPPORTED = frozenset({"define", "template", "block"})


class _Lexeme(NamedTuple):
    kind: str
    text: str
    glued: bool
    """Whether no blank stands before it."""


def _pieces(text: str) -> Iterator[tuple[str, str]]:
    """("text", …) and ("action", …) in their order, trim markers applied."""
    at, trims = 0, False
    while (start := text.find("{{", at)) >= 0:
        inner = _COMMENT.match(text, start + 2) or _INNER.match(text, start + 2)
        if inner is None or not text.startswith("}}", inner.end()):
            raise TemplateError(f"unclosed action: {text[start : start + 40]!r}")
        action = inner[0]
        before = text[at:start].lstrip() if trims else text[at:start]
        trims = len(action) > 1 and action[-1] == "-" and action[-2].isspace()
        if action[:1] == "-" and action[1:2].isspace():
            action, before = action[1:], before.rstrip()
        if before:
            yield "text", before
        action = (action[:-1] if trims else action).strip()
        if not action.startswith("/*"):
            yield "action", action
        at = inner.end() + 2
    rest = text[at:].lstrip() if trims else text[at:]
    if rest:
        yield "text", rest


class _Parser:
    """From pieces to nodes; checks variables and functions."""

    def __init__(self, text: str, functions: Mapping[str, Function]) -> None:
        self._pieces = list(_pieces(text))
        self._at = 0
        self._functions = functions
        self._variables: list[set[str]] = [{"$"}]
        self._loops = 0

    def whole(self) -> _Nodes:
        nodes, end = self._nodes()
        if end:
            raise TemplateError(f"unexpected {{{{{end}}}}}")
        return nodes

    def _nodes(self) -> tuple[_Nodes, str]:
        """Nodes up to the `end` or `else …` that closes them, and its text."""
        found: list[_Node] = []
        while self._at < len(self._pieces):
            kind, text = self._pieces[self._at]
            self._at += 1
            if kind == "text":
                found.append(_Text(text))
                continue
            word = text.split(maxsplit=1)[0] if text else ""
            if word in ("end", "else"):
                return _Nodes(found), text
            found.append(self._action(word, text))
        return _Nodes(found), ""

    def _action(self, word: str, text: str) -> _Node:
        if word in _UNSUPPORTED:
            raise TemplateError(f"not supported: {{{{{word}}}}}")
        if word in ("if", "with", "range"):
            return self._block(word, text[len(word) :])
        if word in ("break", "continue"):
            if not self._loops:
                raise TemplateError(f"{{{{{word}}}}} outside {{{{range}}}}")
            return _Jump(_Break if word == "break" else _Continue)
        return _Action(self._pipeline(text))

    def _block(self, word: str, text: str) -> _Node:
        if len(self._variables) > DEEPEST:
            raise TemplateError(f"blocks nest at most {DEEPEST} deep")
        self._variables.append(set())
        self._loops += word == "range"
        pipeline = self._pipeline(text, of_range=word == "range")
        body, end = self._nodes()
        self._loops -= word == "range"
        other = _Nodes([])
        if end.startswith("else"):
            rest = end[4:].strip()
            inner = rest.split(maxsplit=1)[0] if rest else ""
            if rest and inner != word:
                raise TemplateError(f"unexpected {{{{{end}}}}}")
            if rest:
                other = _Nodes([self._block(word, rest[len(inner) :])])
                end = "end"
            else:
                other, end = self._nodes()
        if end != "end":
            raise TemplateError(f"{{{{{word}}}}} without {{{{end}}}}")
        self._variables.pop()
        made = {"if": _If, "with": _With, "range": _Range}[word]
        return made(pipeline, body, other)

    def _pipeline(self, text: str, *, of_range: bool = False) -> _Pipeline:
        lexemes = _lexed(text)
        names: list[str] = []
        at = 0
        if of_range and [one.text for one in lexemes[1:2]] == [","]:
            names.append(lexemes[0].text)
            at = 2
        declares = False
        if len(lexemes) > at + 1 and lexemes[at + 1].text in (":=", "="):
            if lexemes[at].kind != "variable":
                raise TemplateError(f"{lexemes[at].text} is no variable in {text.strip()!r}")
            names.append(lexemes[at].text)
            declares = lexemes[at + 1].text == ":="
            at += 2
        expression = _Expression(lexemes[at:], text, self._functions, self._known)
        run = expression.whole()
        for name in names:
            if declares:
                self._variables[-1].add(name)
            else:
                self._known(name)
        return _Pipeline(run, tuple(names), declares)

    def _known(self, name: str) -> None:
        if not any(name in scope for scope in self._variables):
            raise TemplateError(f"undefined variable {name!r}")


def _lexed(text: str) -> list[_Lexeme]:
    found: list[_Lexeme] = []
    at, glued = 0, False
    while at < len(text):
        match = _LEXEMES.match(text, at)
        if match is None:
            raise TemplateError(f"unexpected {text[at]!r} in {text.strip()!r}")
        kind = match.lastgroup or ""
        if kind != "space":
            found.append(_Lexeme(kind, match[0], glued))
        glued = kind != "space"
        at = match.end()
    return found


class _Expression:
    """One pipeline's lexemes, compiled."""

    def __init__(
        self,
        lexemes: list[_Lexeme],
        text: str,
        functions: Mapping[str, Function],
        known: Callable[[str], None],
    ) -> None:
        self._lexemes = lexemes
        self._text = text.strip()
        self._functions = functions
        self._known = known
        self._at = 0
        self._depth = 0

    def whole(self) -> _Value:
        found = self._pipe()
        if self._at < len(self._lexemes):
            raise TemplateError(f"unexpected {self._lexemes[self._at].text!r} in {self._text!r}")
        return found

    def _peek(self) -> _Lexeme | None:
        return self._lexemes[self._at] if self._at < len(self._lexemes) else None

    def _pipe(self) -> _Value:
        self._depth += 1
        if self._depth > DEEPEST:
            raise TemplateError(f"brackets nest at most {DEEPEST} deep")
        found = self._command(None)
        while (lexeme := self._peek()) is not None and lexeme.text == "|":
            self._at += 1
            found = self._command(found)
        self._depth -= 1
        return found

    def _command(self, last: _Value | None) -> _Value:
        """A function with its arguments, or a value. `last` is what is piped in."""
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

    def _call(self, name: str, last: _Value | None) -> _Value:
        function = self._functions.get(name)
        if function is None and name not in ("and", "or"):
            raise TemplateError(f'function "{name}" not defined')
        arguments: list[_Value] = []
        while (lexeme := self._peek()) is not None and lexeme.text not in (")", "|"):
            arguments.append(self._operand())
        if last is not None:
            arguments.append(last)
        if function is None:
            return _shortcut(arguments, ends=name == "or", text=self._text)

        def run(state: _State, dot: Any) -> Any:
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

    def _operand(self) -> _Value:
        lexeme = self._lexemes[self._at]
        self._at += 1
        found = self._term(lexeme)
        while (after := self._peek()) is not None and after.kind == "field" and after.glued:
            self._at += 1
            found = _field(found, after.text[1:])
        return found

    def _term(self, lexeme: _Lexeme) -> _Value:
        kind, text = lexeme.kind, lexeme.text
        if kind == "field":
            return _field(_dot, text[1:])
        if kind == "variable":
            self._known(text)
            return lambda state, dot: state.find(text)
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
    """What a result costs: else a few calls would make values that no memory holds."""
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


_CONSTANTS = {"true": True, "false": False, "nil": None}


def _dot(state: _State, dot: Any) -> Any:
    return dot


def _constant(value: Any) -> _Value:
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


def _field(base: _Value, name: str) -> _Value:
    """A member of a map; nil has none, which is an error as in Go."""

    def run(state: _State, dot: Any) -> Any:
        value = base(state, dot)
        if isinstance(value, dict):
            return value.get(name)
        if value is None:
            raise RunError(f"nil pointer evaluating interface {{}}.{name}")
        raise RunError(f"can't evaluate field {name} in type {gotext.json_kind(value)}")

    return run


def _shortcut(arguments: list[_Value], *, ends: bool, text: str) -> _Value:
    """`and` and `or`: the argument that decides."""
    if not arguments:
        raise TemplateError(f"wrong number of args for {'or' if ends else 'and'} in {text!r}")

    def run(state: _State, dot: Any) -> Any:
        state.step()
        found = None
        for argument in arguments:
            found = argument(state, dot)
            if is_true(found) is ends:
                break
        return found

    return run


def is_true(value: Any) -> bool:
    """Go's truth: what is empty, zero or nil is false."""
    return bool(value)


def printed(value: Any) -> str:
    """What `fmt.Print` writes for a value of JSON."""
    if isinstance(value, str):
        return value
    if value is None:
        return "<no value>"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        inner = " ".join(f"{key}:{_inside(value[key])}" for key in sorted(value))
        return f"map[{inner}]"
    if isinstance(value, (list, tuple)):
        return f"[{' '.join(_inside(item) for item in value)}]"
    return str(value) if _is_int(value) else gotext.number(value)


def _inside(value: Any) -> str:
    return "<nil>" if value is None else printed(value)


def _is_int(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _index(value: Any, *keys: Any) -> Any:
    for key in keys:
        if value is None:
            raise RunError("index of untyped nil")
        if isinstance(value, dict):
            value = value.get(key)
        elif isinstance(value, (list, str)) and _is_int(key):
            if not 0 <= key < len(value):
                raise RunError(f"index out of range: {key}")
            value = value[key]
        else:
            raise RunError(f"can't index item of type {gotext.json_kind(value)}")
    return value


def _slice(value: Any, *bounds: int) -> Any:
    if not isinstance(value, (list, str)) or not all(_is_int(bound) for bound in bounds):
        raise RunError("can't slice that")
    if any(not 0 <= bound <= len(value) for bound in bounds):
        raise RunError("index out of range")
    return value[slice(*(bounds if len(bounds) > 1 else (*bounds, None)))]


def _len(value: Any) -> int:
    if isinstance(value, (dict, list, str)):
        return len(value.encode()) if isinstance(value, str) else len(value)
    raise RunError(f"len of type {gotext.json_kind(value)}")


def _comparable(left: Any, right: Any) -> bool:
    numbers = (int, float)
    if isinstance(left, bool) or isinstance(right, bool):
        return isinstance(left, bool) and isinstance(right, bool)
    return (isinstance(left, numbers) and isinstance(right, numbers)) or (
        isinstance(left, str) and isinstance(right, str)
    )


def _eq(first: Any, *others: Any) -> bool:
    if not others:
        raise RunError("missing argument for comparison")
    for other in others:
        if first is None or other is None:
            if first is other:
                return True
        elif not _comparable(first, other):
            raise RunError("incompatible types for comparison")
        elif first == other:
            return True
    return False


def _less(left: Any, right: Any) -> bool:
    if isinstance(left, bool) or not _comparable(left, right):
        raise RunError("invalid type for comparison")
    return bool(left < right)


_VERB = re.compile(r"%([-+# 0]*)(\d*)(?:\.(\d+))?([a-zA-Z%])")


def _printf(form: Any, *values: Any) -> str:
    """fmt.Sprintf for the verbs that templates use: v s d q t f g x T %."""
    if not isinstance(form, str):
        raise RunError("printf takes a text first")
    left = list(values)

    def put(match: re.Match[str]) -> str:
        flags, width, precision, verb = match.groups()
        if verb == "%":
            return "%"
        if not left:
            return f"%!{verb}(MISSING)"
        if len(width) > 4 or len(precision or "") > 4:
            raise RunError("printf: too wide")
        text = _formatted(verb, left.pop(0), precision)
        if "+" in flags and verb in "dfg" and not text.startswith("-"):
            text = f"+{text}"
        if "-" in flags:
            return text.ljust(int(width or 0))
        if "0" in flags and verb in "dfgx":
            return text.zfill(int(width or 0))
        return text.rjust(int(width or 0))

    text = _VERB.sub(put, form)
    if left:
        text += "%!(EXTRA " + ", ".join(printed(value) for value in left) + ")"
    return text


def _formatted(verb: str, value: Any, precision: str | None) -> str:
    if verb == "q" and isinstance(value, str):
        return gotext.quote(value)
    if verb == "d" and _is_int(value):
        return str(value)
    if verb == "x" and _is_int(value):
        return f"{value:x}"
    if verb in "fg" and isinstance(value, (int, float)):
        return f"{float(value):.{precision or 6}{verb}}"
    if verb == "t" and isinstance(value, bool):
        return printed(value)
    if verb in "vs":
        text = _inside(value)
        return text[: int(precision)] if precision and verb == "s" else text
    return f"%!{verb}({printed(value)})"


def _println(*values: Any) -> str:
    return " ".join(_inside(value) for value in values) + "\n"


def _print(*values: Any) -> str:
    """fmt.Sprint: blanks between values of which neither is a text."""
    found, previous = "", None
    for number, value in enumerate(values):
        if number and not isinstance(value, str) and not isinstance(previous, str):
            found += " "
        found += _inside(value)
        previous = value
    return found


_BUILTIN: dict[str, Function] = {
    "not": lambda value: not is_true(value),
    "len": _len,
    "index": _index,
    "slice": _slice,
    "print": _print,
    "println": _println,
    "printf": _printf,
    "eq": _eq,
    "ne": lambda left, right: not _eq(left, right),
    "lt": _less,
    "le": lambda left, right: _less(left, right) or _eq(left, right),
    "gt": lambda left, right: not (_less(left, right) or _eq(left, right)),
    "ge": lambda left, right: not _less(left, right),
}
