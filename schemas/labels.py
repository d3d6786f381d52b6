"""What may be a label: keys and values (apimachinery/pkg/util/validation)."""

import re

_VALUE = r"(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?"
_NAME = r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_DOMAIN = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*"
_VALUE_PATTERN, _NAME_PATTERN, _DOMAIN_PATTERN = map(re.compile, (_VALUE, _NAME, _DOMAIN))
MAX_VALUE = 63
MAX_NAME = 63
MAX_DOMAIN = 253

_NAME_TEXT = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an "
    "alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for "
    f"validation is '{_NAME}')"
)
_VALUE_TEXT = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or "
    "'.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  "
    f"or '12345', regex used for validation is '{_VALUE}')"
)
_DOMAIN_TEXT = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or "
    "'.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used "
    f"for validation is '{_DOMAIN}')"
)


def value_problems(value: str) -> list[str]:
    """IsValidLabelValue."""
    problems = []
    if len(value) > MAX_VALUE:
        problems.append(f"must be no more than {MAX_VALUE} bytes")
    if not _VALUE_PATTERN.fullmatch(value):
        problems.append(_VALUE_TEXT)
    return problems


def domain_problems(value: str) -> list[str]:
    """IsDNS1123Subdomain."""
    problems = []
    if len(value) > MAX_DOMAIN:
        problems.append(f"must be no more than {MAX_DOMAIN} bytes")
    if not _DOMAIN_PATTERN.fullmatch(value):
        problems.append(_DOMAIN_TEXT)
    return problems


def key_problems(key: str) -> list[str]:
    """IsQualifiedName: an optional DNS prefix and a name."""
    return _qualified(key, "name part ")


def selector_key_problems(key: str) -> list[str]:
    """The same in the words of label selectors."""
    parts = key.split("/")
    if len(parts) > 2:
        return [
            f"a valid label key {_NAME_TEXT} with an optional DNS subdomain prefix and '/' "
            "(e.g. 'example.com/MyName')"
        ]
    return _qualified(key, "name part ")


def _qualified(key: str, subject: str) -> list[str]:
    prefix, slash, name = key.partition("/")
    if not slash:
        name = prefix
    if slash and "/" in name:
        return [
            f"a qualified name {_NAME_TEXT} with an optional DNS subdomain prefix and '/' "
            "(e.g. 'example.com/MyName')"
        ]
    problems = []
    if slash and not prefix:
        problems.append("prefix part must be non-empty")
    elif slash:
        problems += [f"prefix part {problem}" for problem in domain_problems(prefix)]
    if not name:
        problems.append(f"{subject}must be non-empty")
    elif len(name) > MAX_NAME:
        problems.append(f"{subject}must be no more than {MAX_NAME} bytes")
    if not _NAME_PATTERN.fullmatch(name):
        problems.append(subject + _NAME_TEXT)
    return problems
