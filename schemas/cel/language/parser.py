"""Text to syntax tree: a recursive-descent parser of the whole CEL grammar.

It follows cel-go parser/parser.go: macros are expanded while parsing, chains of `&&` and `||` are
one node, positions are those cel-go reports. Texts of syntax errors come from `syntax`, which
runs only after parsing failed.
"""

from inkube.schemas.cel.language import lexer, literals, macros, syntax
from inkube.schemas.cel.language.ast import (  # fmt: skip
    Call,
    Const,
    Ident,
    ListNode,
    MapEntry,
    MapNode,
    Node,
    Select,
    StructNode,
)
from inkube.schemas.cel.language.lexer import Token
from inkube.schemas.cel.language.source import CompileError, Issue, Source

MAX_SIZE = 100_000
"""The most code points of an expression (cel-go's expressionSizeCodePointLimit)."""
MAX_DEPTH = 250
"""The deepest nesting, and the most terms of one operator (cel-go's maxRecursionDepth)."""

_OPERATORS = (
    ("||",), ("&&",), ("<", "<=", ">=", ">", "==", "!=", "in"), ("+", "-"), ("*", "/", "%"),
)  # fmt: skip
_PRECEDENCE = {operator: level for level, row in enumerate(_OPERATORS) for operator in row}
_LEVELS = len(_OPERATORS)
_SIGNS = frozenset({"!", "-"})
_LOGICAL = frozenset({"||", "&&"})
_RESERVED = frozenset(
    {
        "as", "break", "const", "continue", "else", "for", "function", "if", "import", "let",
        "loop", "package", "namespace", "return", "var", "void", "while",
    }
)  # fmt: skip


def parse(text: str, *, binds: bool = False) -> tuple[Source, Node]:
    """Return the source and the tree of an expression; `cel.bind` is a macro if `binds`.

    Raises CompileError with all errors.
    """
    source = Source(text)
    if len(text) > MAX_SIZE:
        message = f"expression code point size exceeds limit: size: {len(text)}, limit {MAX_SIZE}"
        raise CompileError(source, [Issue(0, message)])
    tokens, issues = lexer.tokens(text)
    parser = _Parser(tokens, binds=binds)
    try:
        node = parser.whole()
    except _SyntaxError:
        all_issues = issues + parser.issues + syntax.issues(text, tokens)
        raise CompileError(source, all_issues) from None
    except RecursionError:
        raise CompileError(source, [_too_deep(0)]) from None
    if issues or parser.issues:
        raise CompileError(source, issues + parser.issues)
    return source, node


def _too_deep(pos: int) -> Issue:
    return Issue(pos, f"expression recursion limit exceeded: {MAX_DEPTH}")


class _SyntaxError(Exception):
    """The text does not fit the grammar."""


class _Parser:
    def __init__(self, tokens: list[Token], *, binds: bool) -> None:
        self._tokens = tokens
        self._binds = binds
        self._next = 0
        self._token = tokens[0]
        self._depth = 0
        self.issues: list[Issue] = []

    def whole(self) -> Node:
        node = self._expression()
        if self._token.kind != lexer.EOF:
            raise _SyntaxError
        return node

    def _advance(self) -> Token:
        token = self._token
        self._next += 1
        self._token = self._tokens[min(self._next, len(self._tokens) - 1)]
        return token

    def _accept(self, kind: str) -> Token | None:
        return self._advance() if self._token.kind == kind else None

    def _expect(self, kind: str) -> Token:
        if self._token.kind != kind:
            raise _SyntaxError
        return self._advance()

    def _peek(self, ahead: int) -> str:
        return self._tokens[min(self._next + ahead, len(self._tokens) - 1)].kind

    def _report(self, pos: int, message: str) -> None:
        self.issues.append(Issue(pos, message))

    def _expression(self) -> Node:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise RecursionError
        node = self._operators(0)
        question = self._accept("?")
        if question:
            yes = self._operators(0)
            self._expect(":")
            no = self._expression()
            node = Call(question.pos, "_?_:_", (node, yes, no))
        self._depth -= 1
        return node

    def _operators(self, level: int) -> Node:
        """Parse operators that bind at least as tightly as `level` (precedence climbing)."""
        left = self._member() if self._token.kind not in _SIGNS else self._signed()
        lengths = [0] * _LEVELS
        while (precedence := _PRECEDENCE.get(self._token.kind, -1)) >= level:
            operator = self._token
            if operator.kind in _LOGICAL:
                left = self._chain(operator, left, precedence)
                continue
            lengths[precedence] += 1
            if lengths[precedence] >= MAX_DEPTH:
                raise RecursionError
            self._advance()
            name = "@in" if operator.kind == "in" else f"_{operator.kind}_"
            left = Call(operator.pos, name, (left, self._operators(precedence + 1)))
        return left

    def _chain(self, operator: Token, first: Node, level: int) -> Node:
        terms = [first]
        while self._accept(operator.kind):
            terms.append(self._operators(level + 1))
        return Call(operator.pos, f"_{operator.kind}_", tuple(terms))

    def _signed(self) -> Node:
        kind = self._token.kind
        pos = self._token.pos
        count = 0
        while self._token.kind == kind and not (kind == "-" and not count and self._is_literal()):
            self._advance()
            count += 1
        operand = self._member()
        return Call(pos, f"{kind}_", (operand,)) if count % 2 else operand

    def _is_literal(self) -> bool:
        return self._peek(1) in ("NUM_INT", "NUM_FLOAT")

    def _member(self) -> Node:
        node = self._primary()
        length = 0
        while self._token.kind in (".", "["):
            length += 1
            if length >= MAX_DEPTH:
                raise RecursionError
            operator = self._advance()
            node = (
                self._selection(node, operator)
                if operator.kind == "."
                else self._index(node, operator)
            )
        return node

    def _selection(self, operand: Node, dot: Token) -> Node:
        optional = self._accept("?") is not None
        name = self._field_name()
        if optional:
            return Select(dot.pos, operand, name, optional=True)
        if self._token.kind == "(":
            opening = self._advance()
            args = self._arguments()
            return self._call(opening.pos, name, args, operand)
        return Select(dot.pos, operand, name)

    def _field_name(self) -> str:
        token = self._advance()
        if token.kind == "ESC_IDENTIFIER":
            self._report(token.pos, "unsupported syntax: '`'")
            return token.text[1:-1]
        if token.kind != "IDENTIFIER":
            raise _SyntaxError
        return token.text

    def _index(self, operand: Node, bracket: Token) -> Node:
        optional = self._accept("?") is not None
        index = self._expression()
        self._expect("]")
        return Call(bracket.pos, "_[?_]" if optional else "_[_]", (operand, index))

    def _arguments(self) -> tuple[Node, ...]:
        args: list[Node] = []
        if self._token.kind != ")":
            args.append(self._expression())
            while self._accept(","):
                args.append(self._expression())
        self._expect(")")
        return tuple(args)

    def _call(self, pos: int, name: str, args: tuple[Node, ...], target: Node | None) -> Node:
        expansion = macros.expand(pos, name, args, target, binds=self._binds)
        if expansion is None:
            return Call(pos, name, args, target)
        if isinstance(expansion, Issue):
            self.issues.append(expansion)
            return Const(pos, None)
        return expansion

    def _primary(self) -> Node:
        token = self._token
        match token.kind:
            case "(":
                self._advance()
                node = self._expression()
                self._expect(")")
                return node
            case "[":
                return self._list()
            case "{":
                return self._map()
            case "." | "IDENTIFIER":
                return self._name()
        return self._literal()

    def _name(self) -> Node:
        dot = self._accept(".")
        token = self._expect("IDENTIFIER")
        prefix = "." if dot else ""
        struct = self._struct_end()
        if struct:
            return self._struct(prefix + token.text, struct)
        if not dot and token.text in _RESERVED and self._token.kind != "(":
            self._report(token.pos, f"reserved identifier: {token.text}")
        if self._token.kind == "(":
            opening = self._advance()
            return self._call(opening.pos, prefix + token.text, self._arguments(), None)
        return Ident(token.pos, prefix + token.text)

    def _struct_end(self) -> int:
        """Return the number of tokens before the `{` of a message literal; 0 without one."""
        ahead = 0
        while self._peek(ahead) == "." and self._peek(ahead + 1) == "IDENTIFIER":
            ahead += 2
        return ahead + 1 if self._peek(ahead) == "{" else 0

    def _struct(self, name: str, length: int) -> Node:
        for _ in range(length - 1):
            name += self._advance().text
        opening = self._expect("{")
        fields: list[tuple[str, Node]] = []
        while self._token.kind not in ("}", ","):
            self._accept("?")
            field = self._field_name()
            self._expect(":")
            fields.append((field, self._expression()))
            if not (self._token.kind == "," and self._peek(1) != "}"):
                break
            self._advance()
        self._accept(",")
        self._expect("}")
        return StructNode(opening.pos, name, tuple(fields))

    def _list(self) -> Node:
        opening = self._advance()
        elements: list[Node] = []
        optional: list[int] = []
        while self._token.kind not in ("]", ","):
            if self._accept("?"):
                optional.append(len(elements))
            elements.append(self._expression())
            if not (self._token.kind == "," and self._peek(1) != "]"):
                break
            self._advance()
        self._accept(",")
        self._expect("]")
        return ListNode(opening.pos, tuple(elements), frozenset(optional))

    def _map(self) -> Node:
        opening = self._advance()
        entries: list[MapEntry] = []
        while self._token.kind not in ("}", ","):
            optional = self._accept("?") is not None
            key = self._expression()
            colon = self._expect(":")
            entries.append(MapEntry(colon.pos, key, self._expression(), optional))
            if not (self._token.kind == "," and self._peek(1) != "}"):
                break
            self._advance()
        self._accept(",")
        self._expect("}")
        return MapNode(opening.pos, tuple(entries))

    def _literal(self) -> Node:
        first = self._token
        negative = self._accept("-") is not None
        token = self._advance()
        try:
            match token.kind:
                case "NUM_INT":
                    return Const(first.pos, literals.integer(token.text, negative))
                case "NUM_FLOAT":
                    return Const(first.pos, literals.double(token.text, negative))
        except ValueError:
            kind = "int" if token.kind == "NUM_INT" else "double"
            self._report(first.pos, f"invalid {kind} literal")
            return Const(first.pos, None)
        if negative:
            raise _SyntaxError
        return self._word(token)

    def _word(self, token: Token) -> Node:
        try:
            match token.kind:
                case "NUM_UINT":
                    return Const(token.pos, literals.unsigned(token.text))
                case "STRING":
                    return Const(token.pos, literals.string(token.text))
                case "BYTES":
                    return Const(token.pos, literals.bytes_(token.text))
        except ValueError:
            unescaped = "unable to unescape string"
            message = "invalid uint literal" if token.kind == "NUM_UINT" else unescaped
            self._report(token.pos, message)
            return Const(token.pos, None)
        if token.kind not in ("true", "false", "null"):
            raise _SyntaxError
        return Const(token.pos, {"true": True, "false": False, "null": None}[token.kind])
