"""Named formats: format.dns1123Label().validate(text), format.named('uuid').

Upstream: apiserver pkg/cel/library/format.go; apimachinery pkg/util/validation and
pkg/api/validation; kube-openapi pkg/validation/strfmt.
"""

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
from inkube.schemas.metadata import names
from inkube.schemas.structural import formats

_PATTERN_MAX: Final = 128
"""The length of the longest pattern of a format, for the estimate (MaxNameFormatRegexSize)."""


@dataclass(frozen=True, slots=True, eq=False)
class FormatValue:
    """A format in an expression: its check of a text, and the length of its pattern."""

    cel_type: ClassVar[Type] = types.FORMAT
    name: str
    faults: Callable[[str], list[str]]
    pattern_size: int

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FormatValue) and self.name == other.name

    def __hash__(self) -> int:
        return hash(self.name)


def _uri(text: str) -> list[str]:
    try:
        gourl.parse_request_uri(text)
    except ValueError as error:
        return [str(error)]
    return []


def _checking(name: str, fault: str) -> Callable[[str], list[str]]:
    """Return a check for a format of schemas. `fault` is the text of its only error."""
    check = formats.check_for(name)
    assert check is not None
    return lambda text: [] if check(text) else [fault]


_FORMATS: Final[dict[str, FormatValue]] = {
    "dns1123Label": FormatValue("DNS1123Label", names.dns1123_label, 30),
    "dns1123Subdomain": FormatValue("DNS1123Subdomain", names.dns1123_subdomain, 60),
    "dns1035Label": FormatValue("DNS1035Label", names.dns1035_label, 30),
    "qualifiedName": FormatValue("QualifiedName", names.label_key, 60),
    "dns1123LabelPrefix": FormatValue(
        "DNS1123LabelPrefix", lambda text: names.label(text, prefix=True), 30
    ),
    "dns1123SubdomainPrefix": FormatValue(
        "DNS1123SubdomainPrefix", lambda text: names.subdomain(text, prefix=True), 60
    ),
    "dns1035LabelPrefix": FormatValue(
        "DNS1035LabelPrefix", lambda text: names.label_1035(text, prefix=True), 30
    ),
    "labelValue": FormatValue("LabelValue", names.label_value, 40),
    "uri": FormatValue("URI", _uri, 2_000),
    "uuid": FormatValue("uuid", _checking("uuid", "does not match the UUID format"), 79),
    "byte": FormatValue("byte", _checking("byte", "invalid base64"), 95),
    "date": FormatValue("date", _checking("date", "invalid date"), 85),
    "datetime": FormatValue("datetime", _checking("datetime", "invalid datetime"), 85),
}


def named(name: str) -> values.Optional:
    """Return the format with this name as an optional."""
    format_value = _FORMATS.get(name)
    return values.NONE if format_value is None else values.Optional(format_value)


def validate(format: FormatValue, text: str) -> values.Optional:
    """Return the errors of a text as an optional: no value if it is valid."""
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
            f"format.{name}",
            f"format.{name}",
            (),
            types.FORMAT,
            _constant(format_value),
            fails=False,
        )
        for name, format_value in _FORMATS.items()
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
