"""Label and field selectors: parsing with the reference's errors, matching plain objects.

Follows apimachinery/pkg/labels/selector.go and pkg/fields/selector.go. Raises StatusError 400.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from inkube.schemas import caches, status
from inkube.schemas.definitions import NAME_FIELD, NAMESPACE_FIELD, SelectableField, Version
from inkube.schemas.golang import quote, strconv
from inkube.schemas.metadata import names
from inkube.schemas.objects import Object

Matcher = Callable[[Object], bool]
Labels = dict[str, str]

MAX_SELECTOR = 64 * 1024  # the limit of a URL; every requirement costs time per object
MAX_CACHED = 4 * MAX_SELECTOR
"""Characters of parsed selectors: a request reads its selectors several times."""
FEW = 8
"""The number of conditions up to which one object is tested without LabelConditions."""
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
        """Return whether the labels fulfil the condition."""
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


class _Condition:
    """All requirements for one key, so that a test takes one look-up for each of their sets."""

    __slots__ = ("_above", "_allowed", "_below", "_denied", "is_forbidden", "is_required")

    def __init__(self) -> None:
        self.is_required = self.is_forbidden = False
        """Whether the key must, or must not, be present."""
        self._allowed: set[str] | None = None
        """The values of which the key must have one; None allows all."""
        self._denied: set[str] = set()
        self._above: int | None = None
        self._below: int | None = None

    def add(self, operator: str, values: Sequence[str]) -> None:
        """Add a requirement."""
        if operator == "!":
            self.is_forbidden = True
            return
        if operator in ("notin", "!="):
            self._denied.update(values)
            return
        self.is_required = True
        if operator in ("in", "=", "=="):
            allowed = set(values)
            self._allowed = allowed if self._allowed is None else self._allowed & allowed
        elif operator == ">":
            bound = int(values[0])
            self._above = bound if self._above is None else max(self._above, bound)
        elif operator == "<":
            bound = int(values[0])
            self._below = bound if self._below is None else min(self._below, bound)

    def accepts(self, value: str) -> bool:
        """Return whether a present value fulfils all requirements."""
        if self.is_forbidden or value in self._denied:
            return False
        if self._allowed is not None and value not in self._allowed:
            return False
        return (self._above is None and self._below is None) or self._is_within(value)

    def _is_within(self, value: str) -> bool:
        try:
            number = int(value)
        except ValueError:
            return False
        return (self._above is None or number > self._above) and (
            self._below is None or number < self._below
        )


def _condition(requirements: Iterable[Requirement]) -> _Condition:
    condition = _Condition()
    for requirement in requirements:
        condition.add(requirement.operator, requirement.values)
    return condition


class LabelConditions:
    """Requirements in a form whose test takes time for the labels of an object, not for the
    requirements: a client can send thousands of them, for thousands of objects."""

    __slots__ = ("_by_key", "_required")

    def __init__(self, conditions: Iterable[Requirement]) -> None:
        by_key: dict[str, _Condition] = {}
        for key, operator, values in conditions:
            found = by_key.get(key)
            if found is None:
                found = by_key[key] = _Condition()
            found.add(operator, values)
        self._by_key = by_key
        self._required = [key for key, each in by_key.items() if each.is_required]

    def match(self, labels: Labels) -> bool:
        """Return whether the labels fulfil all requirements. Labels with the value None are
        missing."""
        if len(self._required) > len(labels):
            return False
        for key in self._required:
            if labels.get(key) is None:
                return False
        by_key = self._by_key
        for key in by_key if len(by_key) < len(labels) else labels:
            value = labels.get(key)
            if value is not None and key in by_key and not by_key[key].accepts(value):
                return False
        return True


@caches.of_texts(256, characters=MAX_CACHED)
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
                if not _is_integer(value):
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


def _is_integer(text: str) -> bool:
    """Return whether Go reads the text as an int64."""
    try:
        strconv.parse_int(text)
    except ValueError:
        return False
    return True


class FieldTerm(NamedTuple):
    """One condition of a field selector."""

    path: str
    value: str
    negated: bool


@caches.of_texts(256, characters=MAX_CACHED)
def parse_fields(text: str) -> tuple[FieldTerm, ...]:
    """Read a field selector: `=`, `==`, `!=`; backslashes escape. Raises StatusError 400."""
    terms = []
    for part in _split(text):
        match = re.match(r"((?:\\.|[^\\=!])*)(!=|==|=)(.*)", part, re.DOTALL)
        if match is None:
            raise status.bad_request(f"invalid selector: '{text}'; can't understand '{part}'")
        value = _unescaped(match[3])
        if match[1] or value:  # a term of nothing selects everything
            terms.append(FieldTerm(match[1], value, match[2] == "!="))
    return tuple(terms)


def sorted_fields(text: str) -> str:
    """Return a field selector with its terms in the order of their texts, as kube-apiserver reads
    it (apimachinery/pkg/fields, parseSelector)."""
    return ",".join(sorted(_split(text)))


def escaped(value: str) -> str:
    """Return the text for a value in a field selector (fields.EscapeValue)."""
    return re.sub(r"([\\,=])", r"\\\1", value)


def _unescaped(value: str) -> str:
    """Return the value of a term without escapes (fields.UnescapeValue). Raises StatusError 400."""
    plain = _UNESCAPED.match(value)
    rest = value[plain.end() :] if plain else value
    if rest.startswith("="):
        raise status.bad_request(
            f"invalid field selector: unescaped character in value: {ord('=')}"
        )
    if rest:
        raise status.bad_request(f"invalid field selector: invalid escape sequence: {rest[:2]}")
    return re.sub(r"\\([\\,=])", r"\1", value)


_UNESCAPED = re.compile(r"(?:[^\\=]|\\[\\,=])*", re.DOTALL)


def _split(text: str) -> list[str]:
    """Split at commas without a backslash before them."""
    return re.findall(r"(?:\\.|[^\\,]|\\$)+", text, re.DOTALL)


class Compiled(NamedTuple):
    """Both selectors: an object matches if both predicates hold. None holds for every object."""

    identity: Callable[[str, str], bool] | None
    """A predicate over the namespace ("" for none) and the name of an object."""
    content: Matcher | None
    """A predicate over the object."""


def compile(  # noqa: A001 # as re.compile
    *, labels: str, fields: str, version: Version
) -> Compiled:
    """Return the predicates of a label selector and a field selector. Raises StatusError 400."""
    requirements = parse_labels(labels) if labels else ()
    by_field = _by_field(parse_fields(fields) if fields else (), version)
    identity = _identity(by_field.pop(NAMESPACE_FIELD, ()), by_field.pop(NAME_FIELD, ()))
    conditions = [
        _key_matcher(field, found) if field.is_map else _field_matcher(field, found)
        for field, found in by_field.items()
    ]
    if not requirements and not conditions:
        return Compiled(identity, None)
    match = LabelConditions(requirements).match
    if not conditions:
        return Compiled(identity, lambda obj: match(obj["metadata"].get("labels") or {}))

    def matches(obj: Object) -> bool:
        labels = obj["metadata"].get("labels") or {}
        return match(labels) and all(condition(obj) for condition in conditions)

    return Compiled(identity, matches)


def _identity(
    namespaces: Sequence[Requirement], names: Sequence[Requirement]
) -> Callable[[str, str], bool] | None:
    if not namespaces and not names:
        return None
    of_namespace, of_name = _condition(namespaces), _condition(names)
    return lambda namespace, name: of_namespace.accepts(namespace) and of_name.accepts(name)


def requirements(selector: Object | None) -> tuple[Requirement, ...]:
    """Return a metav1.LabelSelector as conditions; an empty tuple matches everything. Upstream's
    converter refuses an unknown operator. Here it means DoesNotExist, because validation reports
    it."""
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
    """Return whether labels fulfil all conditions. For many objects, use LabelConditions."""
    if len(conditions) > FEW:
        return LabelConditions(conditions).match(labels)
    return all(condition.matches(labels) for condition in conditions)


def matcher(selector: Object | None) -> Callable[[Labels], bool]:
    """Return a predicate over the labels of many objects, for a metav1.LabelSelector."""
    return LabelConditions(requirements(selector)).match


def selects(selector: Object | None, labels: Labels) -> bool:
    """Return whether a metav1.LabelSelector matches the labels."""
    return matches(requirements(selector), labels)


def format_selector(selector: Object) -> str:
    """Return a LabelSelector as text: `app=web,tier in (a,b)` (metav1.FormatLabelSelector)."""
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
    """Return the name in a field selector that matches only one name, else ""."""
    for term in parse_fields(fields):
        if term.path == "metadata.name" and not term.negated:
            return term.value
    return ""


def _by_field(
    terms: Iterable[FieldTerm], version: Version
) -> dict[SelectableField, list[Requirement]]:
    """Return the requirements for each selected field of the kind. Raises StatusError 400 for an
    unknown field."""
    plain = {field.label: field for field in version.selectable_fields if not field.is_map}
    maps = [field for field in version.selectable_fields if field.is_map]
    of_fields: dict[SelectableField, list[Requirement]] = {}
    for term in terms:
        operator = "!=" if term.negated else "="
        field, key = plain.get(term.path), ""
        if field is None:
            field, key = _map_key(term, maps, version)
        _check_equality(term, version)
        value = term.value if field.is_map else _checked_value(term, field)
        of_fields.setdefault(field, []).append(Requirement(key, operator, (value,)))
    return of_fields


def _map_key(
    term: FieldTerm, maps: Iterable[SelectableField], version: Version
) -> tuple[SelectableField, str]:
    """Return the field of a term such as `status.attributes[KEY]`, and the key. Raises StatusError
    400."""
    for field in maps:
        if term.path.startswith(f"{field.label}[") and term.path.endswith("]"):
            return field, term.path[len(field.label) + 1 : -1]
    raise status.bad_request(version.unknown_field.replace("{label}", term.path))


def _checked_value(term: FieldTerm, field: SelectableField) -> str:
    if field.choices and term.value not in field.choices:
        raise status.bad_request(
            f"unsupported fieldSelector value {quote(term.value)} for field {quote(term.path)}"
        )
    return term.value.removeprefix(field.prefix) if field.prefix else term.value


def _check_equality(term: FieldTerm, version: Version) -> None:
    if not version.only_equality:
        return
    if term.negated:
        raise status.bad_request(
            f'unsupported fieldSelector operator "!=" for field {quote(term.path)}'
        )
    if not term.value:
        raise status.bad_request(f"fieldSelector value of field {quote(term.path)} is empty")


def _key_matcher(field: SelectableField, requirements: Sequence[Requirement]) -> Matcher:
    """Return the condition on several keys of a map, whose values are texts."""
    members, match = field.path.split("."), LabelConditions(requirements).match

    def matches(obj: Object) -> bool:
        value: Any = obj
        for member in members:
            value = value.get(member) if isinstance(value, dict) else None
        texts = value if isinstance(value, dict) else {}
        return match({key: each for key, each in texts.items() if isinstance(each, str)})

    return matches


def _field_matcher(field: SelectableField, requirements: Sequence[Requirement]) -> Matcher:
    paths, zero = tuple(field.path.split("|")), field.zero
    condition = _condition(requirements)

    def matches(obj: Object) -> bool:
        value = next((text for path in paths if (text := field_value(obj, path))), zero)
        return condition.accepts(value)

    return matches


def field_value(obj: Object, path: str) -> str:
    """Return the value of a field for selectors; "" if it is missing, an object or a list."""
    value: Any = obj
    for part in path.split("."):
        value = value.get(part) if isinstance(value, dict) else None
    if value is None or isinstance(value, dict | list):
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)
