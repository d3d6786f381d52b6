"""Checks for the texts of a `format=`, with no error for valid texts."""

import re
from collections.abc import Callable
from functools import partial

from inkube.schemas.builtin import addresses, metadata, naming, resourcenames
from inkube.schemas.fielderrors import FieldError
from inkube.schemas.metadata import names


def _lower(check: Callable[[str], list[str]]) -> Callable[[str], list[str]]:
    """Return a check of the text in lower case."""
    return lambda text: check(text.lower())


def _absolute(text: str) -> list[str]:
    return [] if text.startswith("/") else ["must be an absolute path"]


def _no_backsteps(text: str) -> list[str]:
    """Check that a path has no part `..` (validatePathNoBacksteps)."""
    return ["must not contain '..'"] if ".." in text.split("/") else []


def _descending_path(text: str) -> list[str]:
    """Check that a path is relative and does not leave its start (validateLocalDescendingPath)."""
    rooted = ["must be a relative path"] if text.startswith("/") else []
    return rooted + _no_backsteps(text)


def _local_path(text: str) -> list[str]:
    """Check that a path is relative, does not leave its start, and does not begin with two dots
    (ValidateLocalNonReservedPath)."""
    reserved = text.startswith("..") and not text.startswith("../")
    return _descending_path(text) + (["must not start with '..'"] if reserved else [])


def _trimmed(text: str) -> list[str]:
    return [] if text == text.strip() else ["must not have leading or trailing whitespace"]


_QUALIFIED = {
    "iqn": re.compile(r"iqn\.\d{4}-\d{2}\.([A-Za-z0-9\-.]+)(:[^,;*&$|\s]+)"),
    "eui": re.compile(r"eui.[A-Za-z0-9]{16}"),
    "naa": re.compile(r"naa.[A-Za-z0-9]{32}"),
}


def _iscsi_name(text: str) -> list[str]:
    """Check that the name of an iSCSI target or initiator has one of three forms."""
    form = _QUALIFIED.get(text[:3])
    if form is None:
        return ["must be valid format starting with iqn, eui, or naa"]
    return [] if form.fullmatch(text) else ["must be valid format"]


_NUMBER = r"(0|[1-9]\d*)"
_WORD = r"(0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*)"
_BUILD = "[0-9a-zA-Z-]+"
_SEMVER = re.compile(
    rf"{_NUMBER}\.{_NUMBER}\.{_NUMBER}(-{_WORD}(\.{_WORD})*)?(\+{_BUILD}(\.{_BUILD})*)?", re.ASCII
)


def _semver(text: str) -> list[str]:
    """Check a semantic version without a leading `v`."""
    if _SEMVER.fullmatch(text):
        return []
    return ["must be a string compatible with semver.org spec 2.0.0"]


FORMATS: dict[str, Callable[[str], list[str]]] = {
    "absolute-path": _absolute,
    "condition-reason": naming.condition_reason,
    "config-key": naming.config_key,
    "descending-path": _descending_path,
    "dns-label": names.label,
    "dns-label-1035": names.label_1035,
    "dns-subdomain": names.subdomain,
    "dns-subdomain-lower": _lower(names.subdomain),
    "env-name": naming.env_name,
    "env-name-c": naming.env_name_of_letters,
    "http-header": naming.http_header,
    "iscsi-name": _iscsi_name,
    "label-key": names.label_key,
    "label-value": names.label_value,
    "local-path": _local_path,
    "no-backsteps": _no_backsteps,
    "path-segment": names.path_segment,
    "port-name": naming.port_name,
    "semver": _semver,
    "search-domain": naming.search_domain,
    "trimmed": _trimmed,
    "wildcard-domain": naming.wildcard_domain,
}
"""Checks that return the texts of errors."""
CHECKS: dict[str, Callable[[str, str], list[FieldError]]] = {
    "cidr": addresses.check_block,
    "cidr-lenient": partial(addresses.check_block, strict=False),
    "container-resource": resourcenames.check_of_container,
    "domain-path": names.domain_prefixed_path,
    "finalizer": metadata.unknown_finalizer,
    "ip": addresses.check,
    "ip-reachable": addresses.check_reachable,
}
"""Checks of a text at a path, whose errors have several types. `lenient`: as before the gate
StrictIPCIDRValidation was on."""
