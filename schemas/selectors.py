"""Label and field selectors: parsing with the reference's errors, matching plain objects.

Follows apimachinery/pkg/labels/selector.go and pkg/fields/selector.go. Raises StatusError 400.
"""

import re
from collections.abc import Callable
from typing import Any, NamedTuple

from inkube.schemas import status
from inkube.schemas.definitions import SelectableField, Version
from inkube.schemas.golang import quote
from inkube.schemas.metadata import names
from inkube.schemas.objects import Object

Matcher = Callable[[Object], bool]
Labels = dict[str, str]

MAX_SELECTOR = 64 * 1024  # the limit of a URL; every requirement costs time per object
_TOKENS = re.compile(r"\s*(==|!=|=|!|<|>|,|\(|\)|[^\s=!<>,()]+)")
_OPERATORS = ("in", "notin", "=", "==", "!=", "gt", "lt")
_EXPRESSIONS = {"In": "in", "NotIn": "notin", "Exists": "exists", "DoesNotExist": "!"}
_SYMBOLS = frozenset({"=", "==", "!=", "!", "<", ">", ",", "(", ")"})


class Requirement(NamedTuple):
    """One condition on a label."""

    key: str
    operator: str
    values: tuple[str, ...] = ()

    def matches(self, labels: Labels) -> bool:
        """Whether the labels fulfil the condition."""
        value = labels.get(self.key)
        match self.operator:
            case "exists":
                return value is not None
            case "!":
                return value is None
            case "in" | "=" | "==":
                return value in self.values
            case "notin" | "!=":
                return value is None or value not in self.values
        return _compare(value, self.operator, int(self.values[0]))


def _compare(value: str | None, operator: str, bound: int) -> bool:
    try:
        number = int(value or "")
    except ValueError:
        return False
    return number > bound if operator == ">" else number < bound


def parse_labels(text: str) -> tuple[Requirement, ...]:
    """Read a label selector. Raises StatusError 400."""
    return _Parser(text).parse() if text.strip() else ()


class _Parser:
    """Recursive descent over a token list, with the checks in the order of upstream."""

    def __init__(self, text: str) -> None:
        if len(text) > MAX_SELECTOR:
            raise status.bad_request(f"a selector may be {MAX_SELECTOR} characters long")
        self._tokens = _TOKENS.findall(text)
        self._place = 0

    def _peek(self) -> str:
        return self._tokens[self._place] if self._place < len(self._tokens) else ""

    def _take(self) -> str:
        token = self._peek()
        self._place += 1
        return token

    def parse(self) -> tuple[Requirement, ...]:
        requirements = []
        while True:
            token = self._peek()
            if token in _SYMBOLS - {"!"}:
                raise status.bad_request(
                    f"found '{token}', expected: !, identifier, or 'end of string'"
                )
            if not token:
                break
            requirements.append(self._requirement())
            token = self._take()
            if not token:
                break
            if token != ",":
                raise status.bad_request(f"found '{token}', expected: ',' or 'end of string'")
            after = self._peek()
            if after in _SYMBOLS - {"!"} or not after:
                raise status.bad_request(f"found '{after}', expected: identifier after ','")
        return tuple(sorted(requirements, key=lambda requirement: requirement.key))

    def _requirement(self) -> Requirement:
        negated = self._peek() == "!"
        if negated:
            self._take()
        key = self._take()
        if key in _SYMBOLS or not key:
            raise _unparsed(f"found '{key}', expected: identifier")
        problems = names.label_key(key)
        if problems:
            raise _unparsed(f"<nil>: Invalid value: {quote(key)}: {'; '.join(problems)}")
        if negated:
            return Requirement(key, "!")
        if self._peek() in ("", ","):
            return Requirement(key, "exists")
        return self._comparison(key)

    def _comparison(self, key: str) -> Requirement:
        operator = self._take()
        if operator in ("in", "notin"):
            values = self._set()
        elif operator in ("=", "==", "!=", "<", ">"):
            values = (self._value(),)
        else:
            raise _unparsed(f"found '{operator}', expected: {', '.join(_OPERATORS)}")
        self._check(key, operator, values)
        return Requirement(key, operator, values)

    def _check(self, key: str, operator: str, values: tuple[str, ...]) -> None:
        for index, value in enumerate(values):
            if operator in ("<", ">"):
                if not re.fullmatch(r"[+-]?\d+", value):
                    raise _unparsed(
                        f"values[{index}]: Invalid value: {quote(value)}: for 'Gt', 'Lt' "
                        "operators, the value must be an integer"
                    )
                continue
            problems = names.label_value(value)
            if problems:
                raise _unparsed(
                    f"values[{index}][{key}]: Invalid value: {quote(value)}: {'; '.join(problems)}"
                )

    def _value(self) -> str:
        token = self._peek()
        if token in ("", ","):
            return ""
        if token in _SYMBOLS:
            raise _unparsed(f"found '{token}', expected: identifier")
        return self._take()

    def _set(self) -> tuple[str, ...]:
        token = self._take()
        if token != "(":
            raise _unparsed(f"found '{token}' expected: '('")
        values: list[str] = []
        expect_value = True
        while True:
            token = self._take()
            if token == ")":
                if expect_value:
                    values.append("")
                return tuple(sorted(set(values)))
            if token == ",":
                if expect_value:
                    values.append("")
                expect_value = True
            elif not token or token in _SYMBOLS or not expect_value:
                expected = "',', ')' or identifier" if expect_value else "',' or ')'"
                raise _unparsed(f"found '{token}', expected: {expected}")
            else:
                values.append(token)
                expect_value = False


def _unparsed(message: str) -> status.StatusError:
    return status.bad_request(f"unable to parse requirement: {message}")


class FieldTerm(NamedTuple):
    """One condition of a field selector."""

    path: str
    value: str
    negated: bool


def parse_fields(text: str) -> tuple[FieldTerm, ...]:
    """Read a field selector: `=`, `==`, `!=`; backslashes escape. Raises StatusError 400."""
    terms = []
    for part in _split(text):
        if not part:
            continue
        match = re.match(r"((?:\\.|[^\\=!])*)(!=|==|=)(.*)", part, re.DOTALL)
        if match is None:
            raise status.bad_request(f"invalid selector: '{text}'; can't understand '{part}'")
        value = re.sub(r"\\([\\,=])", r"\1", match[3])
        terms.append(FieldTerm(match[1], value, match[2] == "!="))
    return tuple(terms)


def _split(text: str) -> list[str]:
    """Split at commas without a backslash before them."""
    return re.findall(r"(?:\\.|[^\\,])+", text, re.DOTALL)


def compile(  # noqa: A001 # as re.compile
    *, labels: str, fields: str, version: Version
) -> Matcher | None:
    """A predicate over objects, None if every object matches. Raises StatusError 400."""
    requirements = parse_labels(labels) if labels else ()
    terms = parse_fields(fields) if fields else ()
    conditions = [_own_matcher(term, version) for term in terms]
    if not requirements and not conditions:
        return None

    def matches(obj: Object) -> bool:
        object_labels = obj["metadata"].get("labels") or {}
        return all(requirement.matches(object_labels) for requirement in requirements) and all(
            condition(obj) for condition in conditions
        )

    return matches


def requirements(selector: Object | None) -> tuple[Requirement, ...]:
    """A metav1.LabelSelector as conditions; an empty tuple matches everything. Upstream's converter
    refuses an unknown operator. Here it means DoesNotExist, because validation reports it."""
    if not selector:
        return ()
    equal = [
        Requirement(key, "=", (value,))
        for key, value in (selector.get("matchLabels") or {}).items()
    ]
    expressions = []
    for term in selector.get("matchExpressions") or ():
        operator = _EXPRESSIONS.get(term.get("operator", ""), "!")
        values = tuple(term.get("values") or ())
        expressions.append(Requirement(term.get("key", ""), operator, values))
    return (*equal, *expressions)


def matches(conditions: tuple[Requirement, ...], labels: Labels) -> bool:
    """Whether labels fulfil all conditions."""
    return all(condition.matches(labels) for condition in conditions)


def selects(selector: Object | None, labels: Labels) -> bool:
    """Whether a metav1.LabelSelector matches the labels."""
    return matches(requirements(selector), labels)


def format_selector(selector: Object) -> str:
    """A LabelSelector as text: `app=web,tier in (a,b)` (metav1.FormatLabelSelector)."""
    texts = []
    for key, operator, values in requirements(selector):
        match operator:
            case "in" | "notin":
                text = f"{key} {operator} ({','.join(sorted(values))})"
            case "exists":
                text = key
            case "!":
                text = f"!{key}"
            case _:
                text = f"{key}={values[0]}"
        texts.append((key, text))
    return ",".join(text for _, text in sorted(texts))


def selected_name(fields: str) -> str:
    """The name in a field selector that matches only one name, else ""."""
    for term in parse_fields(fields):
        if term.path == "metadata.name" and not term.negated:
            return term.value
    return ""


def _own_matcher(term: FieldTerm, version: Version) -> Matcher:
    """The condition on a field of the kind. Raises StatusError 400 for an unknown field."""
    for field in version.selectable_fields:
        if field.is_map and term.path.startswith(f"{field.label}[") and term.path.endswith("]"):
            _check_equality(term, version)
            return _key_matcher(term, field)
        if field.label == term.path and not field.is_map:
            _check_equality(term, version)
            if field.choices and term.value not in field.choices:
                raise status.bad_request(
                    f"unsupported fieldSelector value {quote(term.value)} for field "
                    f"{quote(term.path)}"
                )
            if field.prefix and term.value.startswith(field.prefix):
                term = term._replace(value=term.value.removeprefix(field.prefix))
            return _field_matcher(term, field)
    raise status.bad_request(version.unknown_field.replace("{label}", term.path))


def _check_equality(term: FieldTerm, version: Version) -> None:
    if not version.only_equality:
        return
    if term.negated:
        raise status.bad_request(
            f'unsupported fieldSelector operator "!=" for field {quote(term.path)}'
        )
    if not term.value:
        raise status.bad_request(f"fieldSelector value of field {quote(term.path)} is empty")


def _key_matcher(term: FieldTerm, field: SelectableField) -> Matcher:
    key = term.path[len(field.label) + 1 : -1]
    members = field.path.split(".")

    def matches(obj: Object) -> bool:
        value: Any = obj
        for member in (*members, key):
            value = value.get(member) if isinstance(value, dict) else None
        return (value == term.value) is not term.negated

    return matches


def _field_matcher(term: FieldTerm, field: SelectableField) -> Matcher:
    paths, zero = tuple(field.path.split("|")), field.zero

    def matches(obj: Object) -> bool:
        value = next((text for path in paths if (text := field_value(obj, path))), zero)
        return (value == term.value) is not term.negated

    return matches


def field_value(obj: Object, path: str) -> str:
    """The value of a field for selectors; "" if it is missing, an object or a list."""
    value: Any = obj
    for part in path.split("."):
        value = value.get(part) if isinstance(value, dict) else None
    if value is None or isinstance(value, dict | list):
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)
