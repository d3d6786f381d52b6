"""The policy of the audit log: which requests have events, and how much the events contain.

Follows apiserver/pkg/audit/policy (reader.go, checker.go) and apiserver/pkg/apis/audit/validation.
"""

import logging
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple, cast

from inkube.apiserver.http import requests
from inkube.apiserver.http.requests import RequestInfo
from inkube.apiserver.registry import User
from inkube.schemas import fielderrors, golang
from inkube.schemas.fielderrors import FieldError
from inkube.schemas.metadata import names
from inkube.schemas.objects import Object

logger = logging.getLogger("inkube.audit")
Level = Literal["None", "Metadata", "Request", "RequestResponse"]
LEVELS: Sequence[str] = ("None", "Metadata", "Request", "RequestResponse")
RECEIVED, STARTED, STAGE, PANIC = STAGES = (
    "RequestReceived", "ResponseStarted", "ResponseComplete", "Panic",
)  # fmt: skip
_KIND = ("audit.k8s.io/v1", "Policy")
_TEXTS: Final = ["string"]
_TYPES: Final[Mapping[str, Mapping[str, str]]] = {
    "Policy": {
        "apiVersion": "string",
        "kind": "string",
        "metadata": "",
        "omitStages": "[]string",
        "omitManagedFields": "bool",
        "rules": "[]PolicyRule",
    },
    "PolicyRule": {
        "level": "string",
        "users": "[]string",
        "userGroups": "[]string",
        "verbs": "[]string",
        "resources": "[]GroupResources",
        "namespaces": "[]string",
        "nonResourceURLs": "[]string",
        "omitStages": "[]string",
        "omitManagedFields": "bool",
    },
    "GroupResources": {"group": "string", "resources": "[]string", "resourceNames": "[]string"},
}
"""The members of Go types with their own types (apis/audit/v1/types.go); "" is not looked at."""
_KINDS: Final[Mapping[str, type]] = {"string": str, "bool": bool}


def read_policy(path: Path) -> Object:
    """Read the policy in a file. Raises ValueError if the file cannot be read or is not a policy.

    Follows apiserver/pkg/audit/policy/reader.go.
    """
    try:
        document = golang.goyaml.loads(path.read_bytes()).value
    except OSError as error:
        why = golang.gotext.open_error(path, error)
        raise ValueError(
            f'loading audit policy file: failed to read file path "{path}": {why}'
        ) from error
    except golang.unmarshal.DecodeError as error:
        raise ValueError(f"{path} is not an audit policy: {error}") from error
    policy: Object = document if isinstance(document, dict) else {}
    kind = policy.get("apiVersion"), policy.get("kind")
    if kind != _KIND:
        actual = " ".join(str(each) for each in kind if each) or "neither apiVersion nor kind"
        raise ValueError(f"{path} is not an audit policy: expected {' '.join(_KIND)}, not {actual}")
    try:
        unknown = list(_unknown_fields(policy, "Policy"))
    except golang.unmarshal.DecodeError as error:
        text = f"failed decoding: {error}: from file {path}"
        raise ValueError(f"loading audit policy file: {text}") from error
    if unknown:
        found = ", ".join(f'unknown field "{each[1:]}"' for each in unknown)
        logger.warning("Audit policy contains errors, falling back to lenient decoding: %s", found)
    if not policy.get("rules"):
        raise ValueError(f"loaded illegal policy with 0 rules from file {path}")
    errors = list(_problems(policy))
    if errors:
        problem = fielderrors.joined(errors)
        raise ValueError(f"loading audit policy file: {problem}: from file {path}")
    return policy


def _unknown_fields(value: Any, kind: str, owner: str = "", names: str = "") -> Iterator[str]:
    """Yield the paths of members that a Go type does not have. Raises DecodeError for a value of
    another type. `owner` is the struct with the member, `names` the path without indexes."""
    place = f"{owner}.{names}" if owner else ""
    item, members = kind.removeprefix("[]"), _TYPES.get(kind)
    if value is None or not kind:
        return
    expected: type[Any] = list if item != kind else _KINDS.get(kind, dict)
    if not isinstance(value, expected):
        go_type = kind.replace(item, f"v1.{item}") if item in _TYPES else kind
        raise golang.unmarshal.cannot_unmarshal(value, go_type, place)
    if item != kind:
        for index, each in enumerate(value):
            for found in _unknown_fields(each, item, owner, names):
                yield f"[{index}]{found}"
    elif members is not None:
        for name, member in value.items():
            if name not in members:
                yield f".{name}"
                continue
            path = f"{names}.{name}" if names else name
            for found in _unknown_fields(member, members[name], kind, path):
                yield f".{name}{found}"


def _problems(policy: Object) -> Iterator[FieldError]:
    """Yield the errors of a policy (ValidatePolicy)."""
    yield from _stage_problems("omitStages", policy)
    for number, rule in enumerate(policy["rules"]):
        place, level = f"rules[{number}]", rule.get("level") or ""
        if not level:
            yield fielderrors.required(f"{place}.level")
        elif level not in LEVELS:
            yield fielderrors.not_supported(f"{place}.level", level, LEVELS)
        urls = rule.get("nonResourceURLs") or ()
        for index, url in enumerate(urls):
            yield from _url_problems(f"{place}.nonResourceURLs[{index}]", url)
        yield from _resource_problems(f"{place}.resources", rule.get("resources") or ())
        yield from _stage_problems(f"{place}.omitStages", rule)
        if urls and (rule.get("resources") or rule.get("namespaces")):
            why = "rules cannot apply to both regular resources and non-resource URLs"
            yield fielderrors.invalid(f"{place}.nonResourceURLs", urls, why)


def _url_problems(path: str, url: str) -> Iterator[FieldError]:
    if url == "*":
        return
    if not url.startswith("/"):
        why = "non-resource URL rules must begin with a '/' character"
        yield fielderrors.invalid(path, url, why)
    if "*" in url[:-1]:
        why = "non-resource URL wildcards '*' must be the final character of the rule"
        yield fielderrors.invalid(path, url, why)


def _resource_problems(path: str, resources: Sequence[Object]) -> Iterator[FieldError]:
    for entry in resources:
        group = entry.get("group") or ""
        problems = names.dns1123_subdomain(group) if group not in ("", "*") else ()
        if problems:
            yield fielderrors.invalid(f"{path}.group", group, ",".join(problems))
        if entry.get("resourceNames") and not entry.get("resources"):
            why = "using resourceNames requires at least one resource"
            yield fielderrors.invalid(f"{path}.resourceNames", entry["resourceNames"], why)


def _stage_problems(path: str, owner: Object) -> Iterator[FieldError]:
    for index, stage in enumerate(owner.get("omitStages") or ()):
        if stage not in STAGES:
            why = f"allowed stages are {','.join(STAGES)}"
            yield fielderrors.invalid(f"{path}[{index}]", stage, why)


class Selection(NamedTuple):
    """What a policy wants to know about a request."""

    level: Level
    omits_fields: bool = False
    """Whether bodies are without managedFields."""
    omitted: Collection[str] = ()
    """Stages without an event."""


class Policy:
    """The rules that select requests and the level of their events."""

    def __init__(self, policy: Object) -> None:
        self._omits_fields = bool(policy.get("omitManagedFields"))
        self._omitted = frozenset(policy.get("omitStages") or ())
        self._rules = list(policy.get("rules") or [])

    def selection(self, info: RequestInfo, user: User | None) -> Selection:
        """Return what the first rule that matches a request selects."""
        for rule in self._rules:
            if _matches(rule, info, user):
                omits = bool(rule.get("omitManagedFields", self._omits_fields))
                omitted = self._omitted.union(rule.get("omitStages") or ())
                return Selection(cast("Level", rule["level"]), omits, omitted)
        return Selection("None")


def _matches(rule: Object, info: RequestInfo, user: User | None) -> bool:
    users, groups = rule.get("users") or (), rule.get("userGroups") or ()
    if users and (user is None or user.name not in users):
        return False
    if groups and (user is None or not set(user.groups) & set(groups)):
        return False
    if rule.get("verbs") and info.verb not in rule["verbs"]:
        return False
    if rule.get("namespaces") or rule.get("resources"):
        return info.is_resource and _matches_resource(rule, info)
    urls = rule.get("nonResourceURLs") or ()
    return not urls or (
        not info.is_resource and any(requests.is_path(url, info.path) for url in urls)
    )


def _matches_resource(rule: Object, info: RequestInfo) -> bool:
    namespaces, resources = rule.get("namespaces") or (), rule.get("resources") or ()
    if namespaces and info.namespace not in namespaces:
        return False
    whole = f"{info.resource}/{info.subresource}" if info.subresource else info.resource
    for entry in resources:
        if entry.get("group", "") not in (info.group, "*"):
            continue
        if not entry.get("resources"):
            return True
        selected = entry.get("resourceNames") or ()
        if selected and info.name not in selected:
            continue
        patterns = {"*", whole, f"{info.resource}/*"}
        if info.subresource:
            patterns.add(f"*/{info.subresource}")
        if patterns & set(entry["resources"]):
            return True
    return not resources
