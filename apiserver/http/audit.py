"""The audit log: one line of JSON for every finished request that the policy selects.

An event is an `audit.k8s.io/v1` Event of the stage ResponseComplete; the other stages are not
written. Follows apiserver/pkg/audit: policy/checker.go for the rules, request.go for the events.
"""

import gzip
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, NamedTuple, cast

import orjson

from inkube.apiserver.http import auditfiles
from inkube.apiserver.http.httprequest import Impersonation
from inkube.apiserver.http.requests import RequestInfo
from inkube.apiserver.registry import Request, User
from inkube.schemas import fielderrors, golang, sealing
from inkube.schemas.builtin import protobuf
from inkube.schemas.meta import GVK
from inkube.schemas.objects import Object

logger = logging.getLogger("inkube.audit")
Level = Literal["None", "Metadata", "Request", "RequestResponse"]
LEVELS: Sequence[str] = ("None", "Metadata", "Request", "RequestResponse")
STAGE = "ResponseComplete"
_DEFAULT: Object = {"rules": [{"level": "Metadata"}]}
_KIND = ("audit.k8s.io/v1", "Policy")


@dataclass(slots=True)
class RequestContext:
    """The authenticated user and the call of a finished request; both None if authentication
    failed."""

    user: User | None = None
    api_request: Request | None = None
    impersonation: Impersonation | None = None
    """The user as whom the request continued; None if it is `user`."""
    reason: str = ""
    """Why the request is authorized or not; "" without a reason."""


class FinishedRequest(NamedTuple):
    """A request with its response. `request` and `response` are the bodies as they were sent."""

    id: str
    info: RequestInfo
    uri: str
    address: str
    agent: str
    received: datetime
    code: int
    request: bytes
    response: bytes


Listener = Callable[[FinishedRequest, RequestContext], None]
"""Called for every finished request. It must not block."""


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
    rules = policy.get("rules")
    if not isinstance(rules, list) or not all(isinstance(rule, dict) for rule in rules):
        raise ValueError(f"{path}: rules of an audit policy are a list of objects")
    if not rules:
        raise ValueError(f"loaded illegal policy with 0 rules from file {path}")
    for number, rule in enumerate(rules):
        if rule.get("level") not in LEVELS:
            place = f"rules[{number}].level"
            wrong = fielderrors.not_supported(place, rule.get("level", ""), LEVELS).text()
            raise ValueError(f"loading audit policy file: {wrong}: from file {path}")
    return policy


class Policy:
    """The rules that select requests and the level of their events."""

    def __init__(self, policy: Object) -> None:
        self._omits_fields = bool(policy.get("omitManagedFields"))
        stages = policy.get("omitStages") or []
        self._rules = [] if STAGE in stages else list(policy.get("rules") or [])

    def level(self, info: RequestInfo, user: User | None) -> tuple[Level, bool]:
        """Return the level of a request's event, and whether it omits managedFields."""
        for rule in self._rules:
            if _matches(rule, info, user):
                omits = rule.get("omitManagedFields", self._omits_fields)
                rule_level = "None" if STAGE in (rule.get("omitStages") or ()) else rule["level"]
                return cast("Level", rule_level), bool(omits)
        return "None", False


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
    return not urls or (not info.is_resource and any(_matches_path(url, info.path) for url in urls))


def _matches_resource(rule: Object, info: RequestInfo) -> bool:
    namespaces, resources = rule.get("namespaces") or (), rule.get("resources") or ()
    if namespaces and info.namespace not in namespaces:
        return False
    whole = f"{info.resource}/{info.subresource}" if info.subresource else info.resource
    for entry in resources:
        if entry.get("group", "") != info.group:
            continue
        if not entry.get("resources"):
            return True
        names = entry.get("resourceNames") or ()
        if names and info.name not in names:
            continue
        patterns = {"*", whole, f"*/{info.subresource}", f"{info.resource}/*"}
        if not info.subresource:
            patterns = {"*", whole}
        if patterns & set(entry["resources"]):
            return True
    return not resources


def _matches_path(url: str, path: str) -> bool:
    return path.startswith(url[:-1]) if url.endswith("*") else url == path


class AuditLog:
    """Appends events to a file, or to standard output if its path is `-`; closed with the
    server."""

    def __init__(
        self,
        path: Path,
        policy: Mapping[str, Any] | None = None,
        settings: auditfiles.Settings | None = None,
    ) -> None:
        self._policy = Policy(dict(policy or _DEFAULT))
        self._file = auditfiles.AuditFile(path, settings)

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def write(self, request: FinishedRequest, context: RequestContext) -> None:
        """Write the event of a request at the level of the policy. Logs an error if the file
        cannot be written."""
        level, omits = self._policy.level(request.info, context.user)
        if level == "None":
            return
        audit_event = event(request, context, level)
        if level in ("Request", "RequestResponse"):
            add(audit_event, "requestObject", request.request, context.api_request, omits=omits)
        if level == "RequestResponse":
            add(audit_event, "responseObject", request.response, context.api_request, omits=omits)
        try:
            self._file.append(audit_event)
        except OSError as error:
            logger.error("the audit log cannot be written: %s", error)


def event(request: FinishedRequest, context: RequestContext, level: Level) -> Object:
    """Return the `audit.k8s.io/v1` Event of a finished request, without bodies."""
    info, api_request = request.info, context.api_request
    result: Object = {
        "kind": "Event",
        "apiVersion": "audit.k8s.io/v1",
        "level": level,
        "auditID": request.id,
        "stage": STAGE,
        "requestURI": request.uri,
        "verb": info.verb,
        "user": context.user.info() if context.user else {},
        "sourceIPs": [request.address] if request.address else [],
        "userAgent": request.agent,
    }
    if context.impersonation is not None:
        result["impersonatedUser"] = context.impersonation.impersonated.info()
        if ":" in context.impersonation.verb:  # a constrained one
            constraint = {"impersonationConstraint": context.impersonation.verb}
            result["authenticationMetadata"] = constraint
    if info.is_resource:
        reference = {
            "resource": info.resource,
            "namespace": info.namespace,
            "name": info.name or (api_request.notes.name if api_request else ""),
            "apiGroup": info.group,
            "apiVersion": info.version,
            "subresource": info.subresource,
        }
        result["objectRef"] = {name: text for name, text in reference.items() if text}
    result["responseStatus"] = _status(request)
    result["requestReceivedTimestamp"] = _micro(request.received)
    result["stageTimestamp"] = _micro(datetime.now(UTC))
    allowed = api_request is not None or request.code not in (401, 403)
    decision = {
        "authorization.k8s.io/decision": "allow" if allowed else "forbid",
        "authorization.k8s.io/reason": context.reason,
    }
    result["annotations"] = {**decision, **(api_request.notes.annotations if api_request else {})}
    return result


def _status(request: FinishedRequest) -> Object:
    result: Object = {"metadata": {}, "code": request.code}
    if request.code >= 400:
        body = _decode(request.response) or {}
        result |= {name: body[name] for name in ("status", "message", "reason") if name in body}
    return result


def add(
    audit_event: Object, member: str, body: bytes, api_request: Request | None, *, omits: bool
) -> None:
    """Add a body to an event if it is a JSON object, without the secret values of declared kinds;
    with `omits`, without managedFields. A body of a request that was refused early can be one of a
    declared kind."""
    decoded = _decode(body)
    if decoded is None:
        return
    if api_request is None or api_request.resource.definition.has_secrets:
        sealing.redact(decoded)
    if omits:
        for obj in (decoded, *(decoded.get("items") or ())):
            if isinstance(obj, dict) and isinstance(obj.get("metadata"), dict):
                obj["metadata"].pop("managedFields", None)
    audit_event[member] = decoded


def _decode(body: bytes) -> Object | None:
    """Decode a body of JSON or protobuf, which can be gzip. Returns None for others (YAML, texts,
    lists of patches)."""
    if body.startswith(b"\x1f\x8b"):
        body = gzip.decompress(body)
    if body.startswith(protobuf.envelopes.PREFIX):
        return _decode_protobuf(body)
    try:
        value = orjson.loads(body)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _decode_protobuf(body: bytes) -> Object | None:
    try:
        api_version, kind, data = protobuf.envelopes.decode_envelope(body)
        gvk = GVK.of(api_version, kind)
        if not protobuf.envelopes.can_carry(gvk):
            return None
        return protobuf.envelopes.decode(data, gvk)
    except (protobuf.wire.WireError, ValueError):
        return None  # a refused body


def _micro(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
