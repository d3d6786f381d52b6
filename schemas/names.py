"""What a DNS label or subdomain must look like, in the reference's words.

Follows apimachinery/pkg/util/validation/validation.go.
"""

import re

_LABEL_1035 = r"[a-z]([-a-z0-9]*[a-z0-9])?"
_LABEL_1123 = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN_1123 = rf"{_LABEL_1123}(\.{_LABEL_1123})*"
_IS_LABEL_1035 = re.compile(_LABEL_1035)
_IS_SUBDOMAIN_1123 = re.compile(_SUBDOMAIN_1123)


def dns1035_label(text: str) -> list[str]:
    """Why the text is no DNS-1035 label (at most 63 bytes); empty when it is one."""
    problems = _longer(text, 63)
    if not _IS_LABEL_1035.fullmatch(text):
        problems.append(
            "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start "
            "with an alphabetic character, and end with an alphanumeric character "
            f"(e.g. 'my-name',  or 'abc-123', regex used for validation is '{_LABEL_1035}')"
        )
    return problems


def dns1123_subdomain(text: str) -> list[str]:
    """Why the text is no RFC 1123 subdomain (at most 253 bytes); empty when it is one."""
    problems = _longer(text, 253)
    if not _IS_SUBDOMAIN_1123.fullmatch(text):
        problems.append(
            "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, "
            "'-' or '.', and must start and end with an alphanumeric character "
            f"(e.g. 'example.com', regex used for validation is '{_SUBDOMAIN_1123}')"
        )
    return problems


def _longer(text: str, limit: int) -> list[str]:
    if len(text.encode()) > limit:
        return [f"must be no more than {limit} bytes"]
    return []
