"""Names and keys in the reference's words, beyond those of `schemas.names`.

Follows apimachinery/pkg/util/validation/validation.go and pkg/api/validation/generic.go.
"""

import re
from collections.abc import Callable

from inkube.schemas import names

_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_IS_LABEL = re.compile(_LABEL)
_QUALIFIED = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_IS_QUALIFIED = re.compile(_QUALIFIED)
_LABEL_VALUE = f"({_QUALIFIED})?"
_IS_LABEL_VALUE = re.compile(_LABEL_VALUE)
_CONFIG_KEY = "[-._a-zA-Z0-9]+"
_IS_CONFIG_KEY = re.compile(_CONFIG_KEY)
_PORT_NAME = re.compile("[-a-z0-9]+")


def too_long(limit: int, unit: str = "bytes") -> str:
    """`MaxLenError`."""
    return f"must be no more than {limit} {unit}"


def label(text: str) -> list[str]:
    """Why the text is no RFC 1123 label."""
    problems = [too_long(63, "characters")] if len(text) > 63 else []
    if not _IS_LABEL.fullmatch(text):
        if names.dns1123_subdomain(text):
            problems.append(
                "a lowercase RFC 1123 label must consist of lower case alphanumeric characters "
                "or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  "
                f"or '123-abc', regex used for validation is '{_LABEL}')"
            )
        else:
            problems.append("must not contain dots")
    return problems


def subdomain(text: str) -> list[str]:
    """Why the text is no RFC 1123 subdomain."""
    problems = names.dns1123_subdomain(text)
    return [
        problem.replace("no more than 253 bytes", "no more than 253 characters")
        for problem in problems
    ]


def label1035(text: str) -> list[str]:
    """Why the text is no RFC 1035 label."""
    problems = names.dns1035_label(text)
    return [
        problem.replace("no more than 63 bytes", "no more than 63 characters")
        for problem in problems
    ]


def path_segment(text: str) -> list[str]:
    """Why the text cannot stand in a path: the names of RBAC's kinds."""
    if text in (".", ".."):
        return [f"may not be '{text}'"]
    return [f"may not contain '{char}'" for char in "/%" if char in text]


NAME_CHECKS: dict[str, Callable[[str], list[str]]] = {
    "subdomain": subdomain,
    "label": label,
    "label1035": label1035,
    "path": path_segment,
    "any": lambda _: [],
}


def prefix(check: str, text: str) -> list[str]:
    """Why the text cannot be a generateName: as a name, but it may end in a dash."""
    return NAME_CHECKS[check](text[:-1] + "a" if len(text) > 1 and text.endswith("-") else text)


def qualified(text: str) -> list[str]:
    """Why the text is no label or annotation key."""
    parts = text.split("/")
    if len(parts) > 2:
        why = (
            "a qualified name must consist of alphanumeric characters, '-', '_' or '.', and must "
            "start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or "
            f"'123-abc', regex used for validation is '{_QUALIFIED}') with an optional DNS "
            "subdomain prefix and '/' (e.g. 'example.com/MyName')"
        )
        return [why]
    problems = []
    if len(parts) == 2:
        if not parts[0]:
            problems.append("prefix part must be non-empty")
        else:
            problems.extend(
                f"prefix part {problem}" for problem in names.dns1123_subdomain(parts[0])
            )
    return problems + _name_part(parts[-1])


def _name_part(text: str) -> list[str]:
    if not text:
        return ["name part must be non-empty", _qualified_form("name part ")]
    problems = [f"name part {too_long(63)}"] if len(text) > 63 else []
    if not _IS_QUALIFIED.fullmatch(text):
        problems.append(_qualified_form("name part "))
    return problems


def _qualified_form(before: str) -> str:
    return (
        f"{before}must consist of alphanumeric characters, '-', '_' or '.', and must start and "
        "end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex "
        f"used for validation is '{_QUALIFIED}')"
    )


def label_value(text: str) -> list[str]:
    """Why the text is no label's value."""
    problems = [too_long(63)] if len(text) > 63 else []
    if not _IS_LABEL_VALUE.fullmatch(text):
        problems.append(
            "a valid label must be an empty string or consist of alphanumeric characters, '-', "
            "'_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  "
            f"or 'my_value',  or '12345', regex used for validation is '{_LABEL_VALUE}')"
        )
    return problems


def config_key(text: str) -> list[str]:
    """Why the text is no key of a ConfigMap or Secret."""
    problems = [too_long(253)] if len(text) > 253 else []
    if not _IS_CONFIG_KEY.fullmatch(text):
        problems.append(
            "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. "
            "'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is "
            f"'{_CONFIG_KEY}')"
        )
    if text in (".", ".."):
        problems.append(f"must not be '{text}'")
    elif text.startswith(".."):
        problems.append("must not start with '..'")
    return problems


def port_name(text: str) -> list[str]:
    """Why the text is no IANA service name."""
    problems = [too_long(15, "characters")] if len(text) > 15 else []
    if not _PORT_NAME.fullmatch(text):
        problems.append("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)")
    if not re.search("[a-z]", text):
        problems.append("must contain at least one letter (a-z)")
    if "--" in text:
        problems.append("must not contain consecutive hyphens")
    if text.startswith("-") or text.endswith("-"):
        problems.append("must not begin or end with a hyphen")
    return problems


def env_name(text: str) -> list[str]:
    """Why the text is no name of an environment variable: any printable ASCII but `=`."""
    if text and all(" " <= char <= "~" and char != "=" for char in text):
        return []
    why = (
        "a valid environment variable name must consist only of printable ASCII characters other "
        "than '='"
    )
    return [why]
