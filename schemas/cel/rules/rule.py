"""One entry of x-kubernetes-validations, compiled: schema/cel/compilation.go upstream.

`validation` finds errors in rules of a new CRD; `evaluation` runs rules on objects.
"""

from dataclasses import dataclass, field
from typing import Any, Final

from inkube.schemas.cel.checking.estimator import estimate
from inkube.schemas.cel.declarations import types
from inkube.schemas.cel.declarations.environment import Environment, Functions
from inkube.schemas.cel.declarations.functions import CelError
from inkube.schemas.cel.declarations.types import Shape, Type
from inkube.schemas.cel.running.folding import may_be_refused
from inkube.schemas.cel.running.libraries import FUNCTIONS
from inkube.schemas.cel.running.program import Checked, Program, ProgramError, checked
from inkube.schemas.golang import gotext
from inkube.schemas.lazyproperty import cached_property

SELF: Final = "self"
OLD_SELF: Final = "oldSelf"


class RuleError(CelError):
    """A rule or its messageExpression cannot be used; `str()` is the detail of the error."""


@dataclass(frozen=True)
class Expression:
    """A text that is compiled once for checking, and once for running at its first run."""

    text: str
    environment: Environment
    result: Type
    label: str
    """The prefix of the compiler's texts: "" or `messageExpression `."""
    missing: tuple[str, ...] = ()
    """Variables that may have no value."""

    @cached_property
    def checked(self) -> Checked:
        """The checked tree. Raises RuleError."""
        try:
            tree = checked(self.text, self.environment)
        except CelError as error:
            raise RuleError(f"{self.label}compilation failed: {error}") from error
        if tree.type != self.result:
            subject = self.label or "cel expression "
            expected = "a bool" if self.result is types.BOOL else "a string"
            raise RuleError(f"{subject}must evaluate to {expected}")
        return tree

    @cached_property
    def program(self) -> Program:
        """The program. Raises RuleError."""
        try:
            return Program(self.checked, self.environment, self.missing)
        except ProgramError as error:
            prefix = f"{self.label}instantiation failed" if self.label else None
            raise RuleError(f"{prefix or 'program instantiation failed'}: {error}") from error

    def prepare(self) -> None:
        """Check that a program can be created. Raises RuleError.

        Creates the program only if this can fail, because most rules that are checked for a new
        CRD never run, or run in another process.
        """
        if may_be_refused(self.checked.root):
            _ = self.program

    @cached_property
    def cost(self) -> int:
        """The static estimate of the greatest cost."""
        return estimate(self.checked.root, self.environment).max


@dataclass(frozen=True)
class Rule:
    """A validation rule over values of one shape."""

    spec: dict[str, Any]
    shape: Shape
    field_path: str = ""
    """The rule's fieldPath, normalised: `map[key]`."""
    functions: Functions = field(default_factory=lambda: FUNCTIONS, repr=False, compare=False)
    """The functions that the rule can call."""

    @property
    def text(self) -> str:
        """The text of the rule."""
        return str(self.spec.get("rule", ""))

    @property
    def is_empty(self) -> bool:
        """Whether the text is empty."""
        return not self.text.strip()

    @property
    def has_optional_old_self(self) -> bool:
        """Whether oldSelf is an optional, so that the rule also runs on create."""
        return self.spec.get("optionalOldSelf") is True

    @cached_property
    def expression(self) -> Expression:
        """The expression of the rule, with a bool as the result."""
        return Expression(self.text, self._environment, types.BOOL, "")

    @cached_property
    def message_expression(self) -> Expression | None:
        """The messageExpression, with a string as the result; None without one."""
        text = self.spec.get("messageExpression")
        if not text:
            return None
        label = "messageExpression "
        return Expression(str(text), self._environment, types.STRING, label, (OLD_SELF,))

    @cached_property
    def error(self) -> str:
        """The reason why the rule cannot be used; "" if it can."""
        try:
            _ = self.expression.checked
        except RuleError as error:
            return str(error)
        return ""

    @cached_property
    def uses_old_self(self) -> bool:
        """Whether the rule uses oldSelf, so that it is a transition rule. Raises RuleError."""
        return self.expression.checked.uses(OLD_SELF)

    @cached_property
    def name(self) -> str:
        """The name of the rule in run-time errors: its message, or its text (ruleErrorString)."""
        return str(self.spec.get("message") or self.text).strip()

    @cached_property
    def message(self) -> str:
        """The message of a failure without messageExpression."""
        if self.spec.get("message"):
            return str(self.spec["message"]).strip()
        return f"failed rule: {self.text.strip()}"

    @cached_property
    def _environment(self) -> Environment:
        old = self.shape
        if self.has_optional_old_self:
            old = Shape(types.optional_of(self.shape.type))
        return Environment(self.functions, {SELF: self.shape, OLD_SELF: old})


def go_source(spec: dict[str, Any]) -> str:
    """Return the rule as Go source."""
    fields = {
        "Rule": spec.get("rule", ""),
        "Message": spec.get("message", ""),
        "MessageExpression": spec.get("messageExpression", ""),
        "Reason": _pointer("apiextensions.FieldValueErrorReason", spec.get("reason")),
        "FieldPath": spec.get("fieldPath", ""),
        "OptionalOldSelf": _pointer("bool", spec.get("optionalOldSelf")),
    }
    pointers = ("Reason", "OptionalOldSelf")
    parts = (
        f"{name}:{value if name in pointers else gotext.quote(value)}"
        for name, value in fields.items()
    )
    return f"apiextensions.ValidationRule{{{', '.join(parts)}}}"


def _pointer(name: str, value: Any) -> str:
    return f"(*{name}){'(nil)' if value is None else '(0xc000000000)'}"


def go_struct(spec: dict[str, Any]) -> str:
    """Return the rule as errors print the Go struct apiextensions.ValidationRule."""
    fields = {
        "Rule": spec.get("rule", ""),
        "Message": spec.get("message", ""),
        "MessageExpression": spec.get("messageExpression", ""),
        "Reason": spec.get("reason"),
        "FieldPath": spec.get("fieldPath", ""),
        "OptionalOldSelf": spec.get("optionalOldSelf"),
    }
    parts = (f'"{name}":{gotext.compact_json(value)}' for name, value in fields.items())
    return "{" + ",".join(parts) + "}"
