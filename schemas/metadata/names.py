"""Checks of names, labels and keys. They return texts of errors, an empty list for valid ones.

Follows apimachinery/pkg/util/validation, pkg/api/validate/content and pkg/api/validation.
"""

import re
from collections.abc import Callable

from inkube.schemas import caches, fielderrors
from inkube.schemas.fielderrors import FieldError

Check = Callable[[str, bool], list[str]]
"""(name, whether it is only a prefix) → texts of errors."""

_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = rf"{_LABEL}(\.{_LABEL})*"
_LABEL_1035 = "[a-z]([-a-z0-9]*[a-z0-9])?"
_KEY = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_VALUE = f"({_KEY})?"
_MAX_LABEL, _MAX_SUBDOMAIN = 63, 253
_REMEMBERED = 4096  # short texts, so a megabyte at most
_NAME_PART = (
    "must consist of alphanumeric characters, '-', '_' or '.', "
    "and must start and end with an alphanumeric character"
)
_SUBDOMAIN_TEXT = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or "
    "'.', and must start and end with an alphanumeric character"
)
_LABEL_TEXT = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and "
    "must start and end with an alphanumeric character"
)
_LABEL_1035_TEXT = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an "
    "alphabetic character, and end with an alphanumeric character"
)
_VALUE_TEXT = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or "
    "'.', and must start and end with an alphanumeric character"
)
_matches = {
    pattern: re.compile(rf"(?:{pattern})\Z").match
    for pattern in (_LABEL, _SUBDOMAIN, _LABEL_1035, _KEY, _VALUE)
}


def regex_error(text: str, pattern: str, *examples: str) -> str:
    """validation.RegexError: return the rule with its examples."""
    if not examples:
        return f"{text} (regex used for validation is '{pattern}')"
    quoted_examples = " or ".join(f"'{example}', " for example in examples)
    return f"{text} (e.g. {quoted_examples}regex used for validation is '{pattern}')"


def max_length_error(limit: int, unit: str = "characters") -> str:
    """validation.MaxLenError. The errors of package content have the unit "bytes".

    Both packages count bytes. Content contains only the rules of label keys and values.
    """
    return f"must be no more than {limit} {unit}"


def dns1123_subdomain(name: str, unit: str = "characters") -> list[str]:
    """IsDNS1123Subdomain: `example.com`."""
    texts = (_SUBDOMAIN_TEXT, "example.com")
    return _check(name, _MAX_SUBDOMAIN, _SUBDOMAIN, texts, unit=unit)


def dns1123_label(name: str) -> list[str]:
    """IsDNS1123Label: `my-name`. A name whose only error is a dot has its own error text."""
    wrong = _check(name, _MAX_LABEL, _LABEL, (_LABEL_TEXT, "my-name", "123-abc"))
    if wrong and "." in name and _matches[_SUBDOMAIN](name):
        wrong[-1] = "must not contain dots"
    return wrong


def dns1035_label(name: str) -> list[str]:
    """IsDNS1035Label: starts with a letter."""
    return _check(name, _MAX_LABEL, _LABEL_1035, (_LABEL_1035_TEXT, "my-name", "abc-123"))


def label_value(value: str) -> list[str]:
    """Return the errors of a label value (IsValidLabelValue)."""
    texts = (_VALUE_TEXT, "MyValue", "my_value", "12345")
    return _check(value, _MAX_LABEL, _VALUE, texts, unit="bytes")


def label_key(key: str) -> list[str]:
    """IsLabelKey, IsQualifiedName: `name` or `example.com/name`."""
    prefix, slash, name = key.rpartition("/")
    if "/" in prefix:
        text = regex_error("a valid label key " + _NAME_PART, _KEY, *_KEY_EXAMPLES)
        return [f"{text} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"]
    wrong = []
    if slash and not prefix:
        wrong.append("prefix part must be non-empty")
    elif slash:
        wrong += [f"prefix part {text}" for text in dns1123_subdomain(prefix, "bytes")]
    if not name:
        wrong.append("name part must be non-empty")
    elif _size(name) > _MAX_LABEL:
        wrong.append("name part " + max_length_error(_MAX_LABEL, "bytes"))
    if not _matches[_KEY](name):
        wrong.append("name part " + regex_error(_NAME_PART, _KEY, *_KEY_EXAMPLES))
    return wrong


_KEY_EXAMPLES = ("MyName", "my.name", "123-abc")


def is_label(text: str) -> bool:
    """Return whether `dns1123_label` finds no error. Results are cached."""
    return len(text) <= _MAX_LABEL and _is_label(text)


def is_label_pair(key: str, value: str) -> bool:
    """Return whether `label_key` and `label_value` find no error; cached like `is_label`."""
    short = len(value) <= _MAX_LABEL and len(key) <= _MAX_SUBDOMAIN + 1 + _MAX_LABEL
    return short and _is_label_pair(key, value)


@caches.of_values(_REMEMBERED)
def _is_label(text: str) -> bool:
    return not dns1123_label(text)


@caches.of_values(_REMEMBERED)
def _is_label_pair(key: str, value: str) -> bool:
    return not label_key(key) and not label_value(value)


def subdomain(name: str, prefix: bool = False) -> list[str]:
    """NameIsDNSSubdomain, the rule of most kinds."""
    return dns1123_subdomain(_masked(name) if prefix else name)


def label(name: str, prefix: bool = False) -> list[str]:
    """NameIsDNSLabel, the rule of namespaces."""
    return dns1123_label(_masked(name) if prefix else name)


def label_1035(name: str, prefix: bool = False) -> list[str]:
    """NameIsDNS1035Label, the rule of services."""
    return dns1035_label(_masked(name) if prefix else name)


def path_segment(name: str, prefix: bool = False) -> list[str]:
    """ValidatePathSegmentName, the rule of roles and bindings: any text that fits in a URL."""
    if not prefix and name in {".", ".."}:
        return [f"may not be '{name}'"]
    return [f"may not contain '{char}'" for char in "/%" if char in name]


_SEGMENT = r"[A-Za-z0-9/\-._~%!$&'()*+,;=:]+"
_IS_PATH = re.compile(_SEGMENT)
_PATH = regex_error("Invalid path", _SEGMENT)


def domain_prefixed_path(value: str, path: str) -> list[FieldError]:
    """Return the errors of a path with a domain, such as `acme.io/foo` (IsDomainPrefixedPath)."""
    if not value:
        return [fielderrors.required(path)]
    domain, slash, rest = value.partition("/")
    if not slash or not domain or not rest:
        why = 'must be a domain-prefixed path (such as "acme.io/foo")'
        return [fielderrors.invalid(path, value, why)]
    errors = [fielderrors.invalid(path, domain, why) for why in dns1123_subdomain(domain)]
    if not _IS_PATH.fullmatch(rest):
        errors.append(fielderrors.invalid(path, rest, _PATH))
    return errors


def _masked(prefix: str) -> str:
    """Return a prefix in a form that the checks accept: a final dash is valid, because a random
    suffix follows."""
    return f"{prefix[:-2]}a" if len(prefix) > 1 and prefix.endswith("-") else prefix


def _check(
    name: str, limit: int, pattern: str, texts: tuple[str, ...], *, unit: str = "characters"
) -> list[str]:
    fits = _matches[pattern](name)
    if fits and len(name) <= limit:  # a matching name is ASCII
        return []
    wrong = []
    if _size(name) > limit:
        wrong.append(max_length_error(limit, unit))
    if not fits:
        wrong.append(regex_error(texts[0], pattern, *texts[1:]))
    return wrong


def _size(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
