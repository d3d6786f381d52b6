"""Named formats: format.dns1123Label().validate(text), format.named('uuid').

Upstream: apiserver pkg/cel/library/format.go; apimachinery pkg/util/validation and
pkg/api/validation; kube-openapi pkg/validation/strfmt.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Final

from inkube.schemas.cel.declarations import types, values
from inkube.schemas.cel.declarations.estimates import (
    REGEX_FACTOR,
    STRING_FACTOR,
    Argument,
    CallEstimate,
)
from inkube.schemas.cel.declarations.functions import Impl, Overload
from inkube.schemas.cel.declarations.types import LIST_STRING, STRING, Type, optional_of
from inkube.schemas.cel.library import costs
from inkube.schemas.golang import gourl
from inkube.schemas.structural import formats

_PATTERN_MAX: Final = 128
"""Characters of the longest pattern of a format, for the estimate (MaxNameFormatRegexSize)."""
_LABEL: Final = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN: Final = _LABEL + r"(\." + _LABEL + ")*"
_DNS1035: Final = "[a-z]([-a-z0-9]*[a-z0-9])?"
_QUALIFIED: Final = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_LABEL_TEXT: Final = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', "
    "and must start and end with an alphanumeric character"
)
_SUBDOMAIN_TEXT: Final = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or "
    "'.', and must start and end with an alphanumeric character"
)
_DNS1035_TEXT: Final = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an "
    "alphabetic character, and end with an alphanumeric character"
)
_QUALIFIED_TEXT: Final = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an "
    "alphanumeric character"
)
_LABEL_VALUE_TEXT: Final = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or "
    "'.', and must start and end with an alphanumeric character"
)


@dataclass(frozen=True, slots=True, eq=False)
class FormatValue:
    """A format in an expression: what is wrong with a text, and how long its pattern is."""

    cel_type: ClassVar[Type] = types.FORMAT
    name: str
    faults: Callable[[str], list[str]]
    pattern_size: int

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FormatValue) and self.name == other.name

    def __hash__(self) -> int:
        return hash(self.name)


def _pattern_fault(text: str, pattern: str, *examples: str) -> str:
    """RegexError of apimachinery."""
    shown = "',  or '".join(examples)
    return f"{text} (e.g. '{shown}', regex used for validation is '{pattern}')"


def _too_long(limit: int) -> str:
    return f"must be no more than {limit} bytes"


def _named(
    pattern: str, limit: int, fault: str, *, is_prefix: bool = False
) -> Callable[[str], list[str]]:
    compiled = re.compile(pattern, re.ASCII)

    def faults(text: str) -> list[str]:
        if is_prefix and len(text) > 1 and text.endswith("-"):
            text = text[:-2] + "a"
        found = []
        if len(text.encode("utf-8", "surrogatepass")) > limit:
            found.append(_too_long(limit))
        if not compiled.fullmatch(text):
            found.append(fault)
        return found

    return faults


_LABEL_FAULT: Final = _pattern_fault(_LABEL_TEXT, _LABEL, "my-name", "123-abc")
_SUBDOMAIN_FAULT: Final = _pattern_fault(_SUBDOMAIN_TEXT, _SUBDOMAIN, "example.com")
_DNS1035_FAULT: Final = _pattern_fault(_DNS1035_TEXT, _DNS1035, "my-name", "abc-123")
_subdomain: Final = _named(_SUBDOMAIN, 253, _SUBDOMAIN_FAULT)
_name_part: Final = _named(
    _QUALIFIED,
    63,
    _pattern_fault(_QUALIFIED_TEXT, _QUALIFIED, "MyName", "my.name", "123-abc"),
)


def _qualified_name(text: str) -> list[str]:
    prefix, slash, name = text.partition("/")
    if "/" in name:
        fault = _pattern_fault(
            f"a qualified name {_QUALIFIED_TEXT}", _QUALIFIED, "MyName", "my.name", "123-abc"
        )
        return [
            f"{fault} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
        ]
    found = []
    if slash:
        if not prefix:
            found.append("prefix part must be non-empty")
        else:
            found += [f"prefix part {fault}" for fault in _subdomain(prefix)]
    else:
        name = prefix
    if not name:
        found.append("name part must be non-empty")
    return found + [f"name part {fault}" for fault in _name_part(name)]


_LABEL_VALUE: Final = f"({_QUALIFIED})?"


def _uri(text: str) -> list[str]:
    try:
        gourl.parse_request_uri(text)
    except ValueError as error:
        return [str(error)]
    return []


def _checking(name: str, fault: str) -> Callable[[str], list[str]]:
    """A format of schemas; `fault` is all there is to say."""
    check = formats.check_for(name)
    assert check is not None
    return lambda text: [] if check(text) else [fault]


_FORMATS: Final[dict[str, FormatValue]] = {
    "dns1123Label": FormatValue("DNS1123Label", _named(_LABEL, 63, _LABEL_FAULT), 30),
    "dns1123Subdomain": FormatValue("DNS1123Subdomain", _subdomain, 60),
    "dns1035Label": FormatValue("DNS1035Label", _named(_DNS1035, 63, _DNS1035_FAULT), 30),
    "qualifiedName": FormatValue("QualifiedName", _qualified_name, 60),
    "dns1123LabelPrefix": FormatValue(
        "DNS1123LabelPrefix", _named(_LABEL, 63, _LABEL_FAULT, is_prefix=True), 30
    ),
    "dns1123SubdomainPrefix": FormatValue(
        "DNS1123SubdomainPrefix", _named(_SUBDOMAIN, 253, _SUBDOMAIN_FAULT, is_prefix=True), 60
    ),
    "dns1035LabelPrefix": FormatValue(
        "DNS1035LabelPrefix", _named(_DNS1035, 63, _DNS1035_FAULT, is_prefix=True), 30
    ),
    "labelValue": FormatValue(
        "LabelValue",
        _named(
            _LABEL_VALUE,
            63,
            _pattern_fault(_LABEL_VALUE_TEXT, _LABEL_VALUE, "MyValue", "my_value", "12345"),
        ),
        40,
    ),
    "uri": FormatValue("URI", _uri, 2_000),
    "uuid": FormatValue("uuid", _checking("uuid", "does not match the UUID format"), 79),
    "byte": FormatValue("byte", _checking("byte", "invalid base64"), 95),
    "date": FormatValue("date", _checking("date", "invalid date"), 85),
    "datetime": FormatValue("datetime", _checking("datetime", "invalid datetime"), 85),
}


def named(name: str) -> values.Optional:
    """The format of that name, if there is one."""
    found = _FORMATS.get(name)
    return values.NONE if found is None else values.Optional(found)


def validate(format: FormatValue, text: str) -> values.Optional:
    """What is wrong with the text, or nothing."""
    faults = format.faults(text)
    return values.Optional(faults) if faults else values.NONE


def _cost(arguments: tuple[Any, ...], _: Any) -> int:
    return costs.pattern_search(len(arguments[1]), arguments[0].pattern_size)


def _estimate(arguments: tuple[Argument, ...]) -> CallEstimate:
    size = arguments[1].size.times(STRING_FACTOR)
    return CallEstimate(size.times(_PATTERN_MAX * REGEX_FACTOR))


def _constant(format: FormatValue) -> Impl:
    return lambda: format


OVERLOADS: Final[tuple[Overload, ...]] = (
    *(
        Overload(
            f"format.{name}", f"format.{name}", (), types.FORMAT, _constant(known), fails=False
        )
        for name, known in _FORMATS.items()
    ),
    Overload(
        "format.named", "format-named", (STRING,), optional_of(types.FORMAT), named, fails=False
    ),
    Overload(
        "validate",
        "format-validate",
        (types.FORMAT, STRING),
        optional_of(LIST_STRING),
        validate,
        receiver=True,
        cost=_cost,
        estimate=_estimate,
        fails=False,
    ),
)
