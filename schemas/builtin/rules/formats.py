"""What texts of a `format=` look like: what is wrong with one, nothing when all is well."""

from collections.abc import Callable

from inkube.schemas.builtin.behaviours import naming
from inkube.schemas.metadata import names


def _lower(check: Callable[[str], list[str]]) -> Callable[[str], list[str]]:
    """The same of a text that is made lower case first."""
    return lambda text: check(text.lower())


def _absolute(text: str) -> list[str]:
    return [] if text.startswith("/") else ["must be an absolute path"]


FORMATS: dict[str, Callable[[str], list[str]]] = {
    "absolute-path": _absolute,
    "condition-reason": naming.condition_reason,
    "config-key": naming.config_key,
    "dns-label": naming.label,
    "dns-label-1035": naming.label1035,
    "dns-subdomain": naming.subdomain,
    "dns-subdomain-lower": _lower(naming.subdomain),
    "env-name": naming.env_name,
    "http-header": naming.http_header,
    "label-key": names.label_key,
    "label-key-lower": _lower(names.label_key),
    "label-value": names.label_value,
    "path-segment": names.path_segment,
    "port-name": naming.port_name,
    "search-domain": naming.search_domain,
    "wildcard-domain": naming.wildcard_domain,
}
