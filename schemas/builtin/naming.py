"""Checks of names and keys of built-in kinds, with the reference's texts. They complement
`schemas.metadata.names`. Each returns the errors of a text; [] if it is valid.

Follows apimachinery/pkg/util/validation/validation.go.
"""

import re

from inkube.schemas.metadata import names

_CONFIG_KEY = "[-._a-zA-Z0-9]+"
_IS_CONFIG_KEY = re.compile(_CONFIG_KEY)
_IS_PORT_NAME = re.compile("[-a-z0-9]+")


def anything(text: str, prefix: bool = False) -> list[str]:
    """Accept any text."""
    return []


def generated(text: str, prefix: bool = False) -> list[str]:
    """Check that a name is an RFC 1123 subdomain, but accept any prefix of one
    (ValidateObjectMetaWithOpts)."""
    return [] if prefix else names.subdomain(text)


NAME_CHECKS: dict[str, names.Check] = {
    "subdomain": names.subdomain,
    "label": names.label,
    "label1035": names.label_1035,
    "path": names.path_segment,
    "any": anything,
    "generated": generated,
}


def config_key(text: str) -> list[str]:
    """Check that the text is a key of a ConfigMap or Secret."""
    problems = [names.max_length_error(253)] if len(text) > 253 else []
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
    """Check that the text is an IANA service name."""
    problems = [names.max_length_error(15)] if len(text) > 15 else []
    if not _IS_PORT_NAME.fullmatch(text):
        problems.append("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)")
    if not re.search("[a-z]", text):
        problems.append("must contain at least one letter (a-z)")
    if "--" in text:
        problems.append("must not contain consecutive hyphens")
    if text.startswith("-") or text.endswith("-"):
        problems.append("must not begin or end with a hyphen")
    return problems


def env_name(text: str) -> list[str]:
    """Check that the text is a name of an environment variable: printable ASCII except `=`."""
    if text and all(" " <= char <= "~" and char != "=" for char in text):
        return []
    why = (
        "a valid environment variable name must consist only of printable ASCII characters other "
        "than '='"
    )
    return [why]


_ENV_LETTERS = "[-._a-zA-Z][-._a-zA-Z0-9]*"


def env_name_of_letters(text: str) -> list[str]:
    """Check that the text is a name of an environment variable of letters, digits, `_`, `-` and
    `.`, as without the gate RelaxedEnvironmentVariableValidation (IsEnvVarName)."""
    problems = []
    if not re.fullmatch(_ENV_LETTERS, text):
        what = (
            "a valid environment variable name must consist of alphabetic characters, digits, "
            "'_', '-', or '.', and must not start with a digit"
        )
        examples = ("my.env-name", "MY_ENV.NAME", "MyEnvName1")
        problems.append(names.regex_error(what, _ENV_LETTERS, *examples))
    if text == ".":
        problems.append("must not be '.'")
    elif text == "..":
        problems.append("must not be '..'")
    elif text.startswith(".."):
        problems.append("must not start with '..'")
    return problems


_REASON = "[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?"


def condition_reason(text: str) -> list[str]:
    """Check that the text is a reason of a condition."""
    if re.fullmatch(_REASON, text):
        return []
    what = (
        "a condition reason must start with alphabetic character, optionally followed by a string "
        "of alphanumeric characters or '_,:', and must end with an alphanumeric character or '_'"
    )
    return [
        names.regex_error(
            what, _REASON, "my_name", "MY_NAME", "MyName", "ReasonA,ReasonB", "ReasonA:ReasonB"
        )
    ]


_HEADER = re.compile("[-A-Za-z0-9]+")


def http_header(text: str) -> list[str]:
    """Check that the text is a name of an HTTP header."""
    if _HEADER.fullmatch(text):
        return []
    what = "a valid HTTP header must consist of alphanumeric characters or '-'"
    return [f"{what} (e.g. 'X-Header-Name', regex used for validation is '[-A-Za-z0-9]+')"]


_SEARCH_PART = "_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?"
_SEARCH = rf"{_SEARCH_PART}(\.{_SEARCH_PART})*"


def search_domain(text: str) -> list[str]:
    """Check that the text is a DNS search domain, which can have underscores."""
    problems = [names.max_length_error(253)] if len(text) > 253 else []
    if not re.fullmatch(_SEARCH, text):
        what = (
            "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, "
            "'_', '-' or '.', and must start and end with an alphanumeric character"
        )
        problems.append(names.regex_error(what, _SEARCH, "example.com"))
    return problems


_WILDCARD = r"\*\.[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*"


def wildcard_domain(text: str) -> list[str]:
    """Check that the text is a wildcard domain such as `*.example.com`."""
    problems = [names.max_length_error(253)] if len(text) > 253 else []
    if not re.fullmatch(_WILDCARD, text):
        what = (
            "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS "
            "subdomain, which must consist of lower case alphanumeric characters, '-' or '.' and "
            "end with an alphanumeric character"
        )
        problems.append(names.regex_error(what, _WILDCARD, "*.example.com"))
    return problems
