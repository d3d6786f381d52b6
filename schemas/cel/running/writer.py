"""Writes the Python function of a rule: lines, temporaries, constants and costs of steps.

The source contains no text of the rule. Values, field names and functions are constants that the
compiled code uses by name; variables are numbered. The cost of a block of statements that always
run together is one addition at its start.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from inkube.schemas.cel.declarations.types import Shape
from inkube.schemas.cel.language.ast import Node
from inkube.schemas.cel.running.json_values import adapter, is_adapted

_LONGEST = 400
"""The most characters of an inline expression; longer ones use a temporary, because Python limits
nesting."""
DEEPEST = 8
"""Nested blocks of one function; deeper parts become functions (Python allows 20 blocks)."""


class Code(NamedTuple):
    """A Python expression. `shape` is set if the value is JSON with another form in CEL."""

    text: str
    fails: bool = False
    shape: Shape | None = None

    @property
    def is_atomic(self) -> bool:
        """Whether it is a name or literal, which can be evaluated again without cost or failure."""
        return self.text.isidentifier()


@dataclass(slots=True, eq=False)
class _Line:
    indent: int
    text: str


@dataclass(slots=True)
class _Block:
    line: _Line
    cost: int = 0


class Variable(NamedTuple):
    """A CEL variable in scope: its Python name, and its shape if known.

    `missing` is the CEL name of a variable that may have no value (`MISSING`) when it is used.
    """

    name: str
    shape: Shape | None
    missing: str = ""


Scope = dict[str, Variable]
"""Variables by their CEL names."""


@dataclass(slots=True, eq=False)
class Module:
    """The common parts of all functions of a rule: constants, and separate functions."""

    constants: dict[str, Any] = field(default_factory=dict)
    functions: list[str] = field(default_factory=list)
    _names: dict[Any, str] = field(default_factory=dict)

    def constant(self, value: Any) -> str:
        """Return the name of a constant, which is the same for the same text or object."""
        key = value if isinstance(value, str) else (id(value),)
        name = self._names.get(key)
        if name is None:
            name = f"k{len(self.constants)}"
            self._names[key] = name
            self.constants[name] = value
        return name


class FunctionWriter:
    """One function being written.

    `translate` writes the statements of a node and returns its value, which is JSON if `shape` is
    set. It is a parameter because the parts of the compiler call each other through it.
    """

    def __init__(
        self, module: Module, scope: Scope, translate: Callable[["FunctionWriter", Node], Code]
    ) -> None:
        self.module = module
        self.scope = scope
        self.translate = translate
        self.depth = 0
        self._lines: list[_Line] = []
        self._indent = 2
        self._count = 0
        self._blocks: list[_Block] = []

    def raw(self, node: Node) -> Code:
        """Return the node's value. If `shape` is set, the value is JSON, which must still be
        adapted."""
        return self.translate(self, node)

    def value(self, node: Node, *, marks: bool = False) -> Code:
        """Return the node's CEL value; with `marks`, lists and maps of an object are marked."""
        return self.adapted(self.bounded(self.raw(node)), marks=marks)

    def values(self, nodes: Sequence[Node], *, marks: bool = False) -> list[Code]:
        """Return the values of nodes, computed in order; `marks` as in `value`."""
        codes: list[Code] = []
        for node in nodes:
            mark = self.mark()
            code = self.value(node, marks=marks)
            codes = [*self.settle(codes, mark), code]
        return codes

    def adapted(self, code: Code, *, marks: bool = False) -> Code:
        """Return code for the CEL value of a value that can be JSON."""
        if not is_adapted(code.shape, marks=marks):
            return Code(code.text, code.fails)
        return Code(f"{self.constant(adapter(code.shape, marks=marks))}({code.text})", True)

    def line(self, text: str) -> None:
        """Write a statement."""
        self._lines.append(_Line(self._indent, text))

    def temporary(self) -> str:
        """Return a new Python name."""
        self._count += 1
        return f"t{self._count}"

    def constant(self, value: Any) -> str:
        """Return the name of a constant in the compiled code."""
        return self.module.constant(value)

    def pay(self, cost: int) -> None:
        """Add to the cost of the current block."""
        self._blocks[-1].cost += cost

    def hold(self, code: Code) -> Code:
        """Return a name with the value, which is computed before."""
        if code.is_atomic:
            return code
        name = self.temporary()
        self.line(f"{name} = {code.text}")
        return Code(name, False, code.shape)

    def bounded(self, code: Code) -> Code:
        """Return the same value as code that is short enough to be a part of another expression."""
        return self.hold(code) if len(code.text) > _LONGEST else code

    @contextmanager
    def nested(self, head: str) -> Iterator[None]:
        """Write statements below `if …:`, `for …:` or `try:`."""
        self.line(head)
        self._indent += 1
        before = len(self._lines)
        yield
        if len(self._lines) == before:
            self.line("pass")
        self._indent -= 1

    @contextmanager
    def block(self, head: str) -> Iterator[None]:
        """As `nested`, for statements that do not always run, so that their cost is separate."""
        with self.nested(head), self.payment():
            yield

    @contextmanager
    def payment(self) -> Iterator[None]:
        """Write statements, and add their cost at their start."""
        line = _Line(self._indent, "")
        self._lines.append(line)
        self._blocks.append(_Block(line))
        yield
        block = self._blocks.pop()
        if block.cost:
            line.text = f"c += {block.cost}"

    @contextmanager
    def level(self) -> Iterator[None]:
        """Count one more level of nested blocks."""
        self.depth += 1
        yield
        self.depth -= 1

    def mark(self) -> int:
        """Return a position in the text, for `settle`."""
        return len(self._lines)

    def settle(self, codes: list[Code], mark: int) -> list[Code]:
        """Return code whose values are computed before the lines since `mark`, in the given
        order."""
        if mark == len(self._lines):
            return codes
        settled: list[Code] = []
        for code in codes:
            if not code.is_atomic:
                name = self.temporary()
                self._lines.insert(mark, _Line(self._indent, f"{name} = {code.text}"))
                mark += 1
                code = Code(name, False, code.shape)
            settled.append(code)
        return settled

    def text(self) -> str:
        """Return the body of the function."""
        return "\n".join("    " * line.indent + line.text for line in self._lines if line.text)
