"""The audit log: an `audit.k8s.io/v1` Event for every stage of a request that the policy selects.

The event RequestReceived is written as soon as the user is known. Follows apiserver/pkg/audit
(policy/checker.go for the rules, request.go for the events), apiserver/pkg/endpoints/filters
(audit.go, authn_audit.go) and apiserver/pkg/apis/audit/validation.
"""

import gzip
import logging
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol, cast

import orjson

from inkube.apiserver.http.httprequest import Impersonation
from inkube.apiserver.http.requests import RequestInfo
from inkube.apiserver.registry import Lifetime, Request, User
from inkube.schemas import fielderrors, golang, sealing
from inkube.schemas.builtin import protobuf
from inkube.schemas.fielderrors import FieldError
from inkube.schemas.golang import gotime
from inkube.schemas.meta import GVK
from inkube.schemas.metadata import names
from inkube.schemas.objects import Object

logger = logging.getLogger("inkube.audit")
Level = Literal["None", "Metadata", "Request", "RequestResponse"]
LEVELS: Sequence[str] = ("None", "Metadata", "Request", "RequestResponse")
RECEIVED, STARTED, STAGE, PANIC = STAGES = (
    "RequestReceived", "ResponseStarted", "ResponseComplete", "Panic",
)  # fmt: skip
_DEFAULT: Object = {"omitStages": [RECEIVED, STARTED], "rules": [{"level": "Metadata"}]}
_SLOW = 0.5  # seconds
_LONGEST_AGENT = 1024  # characters
_PATCHES = "patch.webhook.admission.k8s.io/"
_KIND = ("audit.k8s.io/v1", "Policy")


@dataclass(slots=True)
class RequestContext:
    """What is known of a request for its events. The user and the call are None if authentication
    failed."""

    id: str
    received: datetime
    user: User | None = None
    api_request: Request | None = None
    impersonation: Impersonation | None = None
    """The user as whom the request continued; None if it is `user`."""
    lifetime: Lifetime | None = None
    """Where the request waited; None if it has no time limit."""
    decision: Literal["", "allow", "forbid"] = ""
    """Whether the request is authorized; "" if it ended before that was decided."""
    reason: str = ""
    """Why the request is authorized or not; "" without a reason."""
    is_received: bool = False
    """Whether its event RequestReceived is written."""
    has_begun: bool = False
    """Whether the event of the beginning of its response is written."""
    has_panicked: bool = False
    """Whether an unexpected error ended it."""


class FinishedRequest(NamedTuple):
    """A request with its response. `request` and `response` are the bodies as they were sent."""

    info: RequestInfo
    uri: str
    addresses: Sequence[str]
    """Where it comes from: addresses that proxies name, and that of the connection."""
    agent: str
    code: int
    request: bytes = b""
    response: bytes = b""
    media: str = ""
    """The media type of the body of the request; `response_media` is that of the response."""
    response_media: str = ""
    is_long: bool = False
    """Whether it is a stream, such as a watch."""
    attempted: str = ""
    """Which credentials were refused."""


class Sink(Protocol):
    """Where events go."""

    @property
    def is_strict(self) -> bool:
        """Whether a request fails if the sink does not accept its first event."""
        ...

    def append(self, event: Object) -> None:
        """Accept an event. It must not block. Raises OSError."""
        ...

    async def flush(self) -> None:
        """Wait until events have arrived, if requests wait for that. Raises OSError."""
        ...

    def close(self) -> None:
        """Release what the sink holds."""
        ...


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
    errors = list(_problems(policy))
    if errors:
        problem = fielderrors.joined(errors)
        raise ValueError(f"loading audit policy file: {problem}: from file {path}")
    return policy


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
    return not urls or (not info.is_resource and any(_matches_path(url, info.path) for url in urls))


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


def _matches_path(url: str, path: str) -> bool:
    return path.startswith(url[:-1]) if url.endswith("*") else url == path


class AuditLog:
    """Writes events to sinks, which are closed with the server. Without a policy, there is one
    event for each request, without bodies."""

    def __init__(self, sinks: Sequence[Sink], policy: Mapping[str, Any] | None = None) -> None:
        self._has_policy = policy is not None
        self._policy = Policy(dict(policy or _DEFAULT))
        self._sinks = sinks

    def close(self) -> None:
        """Close the sinks."""
        for sink in self._sinks:
            sink.close()

    async def receive(self, request: FinishedRequest, context: RequestContext) -> None:
        """Write the first event of a request, whose user is known. Raises OSError if a strict sink
        does not accept it."""
        selection = self._policy.selection(request.info, context.user)
        context.is_received = True
        self._write(selection, RECEIVED, request, context, raises=True)
        await self.flush(raises=True)

    def begin(self, request: FinishedRequest, context: RequestContext) -> None:
        """Write the event of a stream whose response has begun."""
        selection = self._policy.selection(request.info, context.user)
        context.has_begun = True
        self._write(selection, STARTED, request, context)

    def write(self, request: FinishedRequest, context: RequestContext) -> None:
        """Write the events of a finished request, except those that are written already."""
        selection = self._policy.selection(request.info, context.user)
        if request.attempted and self._has_policy:
            self._write(selection, STARTED, request, context)
            return
        if not context.is_received:
            self._write(selection, RECEIVED, request, context)
        if request.is_long and not context.has_begun:
            self._write(selection, STARTED, request, context)
        stage = PANIC if context.has_panicked else STAGE
        self._write(selection, stage, request, context)

    async def flush(self, *, raises: bool = False) -> None:
        """Wait for sinks that requests wait for. Logs their errors; with `raises`, those of strict
        sinks are an OSError."""
        for sink in self._sinks:
            try:
                await sink.flush()
            except OSError as error:
                if raises and sink.is_strict:
                    raise
                logger.warning("audit events are lost: %s", error)

    def _write(
        self,
        selection: Selection,
        stage: str,
        request: FinishedRequest,
        context: RequestContext,
        *,
        raises: bool = False,
    ) -> None:
        """Write one event. Logs an error if a sink does not accept it; see `flush` for `raises`."""
        level, omits, omitted = selection
        if level == "None" or stage in omitted:
            return
        audit_event = event(request, context, level, stage)
        bodies = (
            ("requestObject", request.request, request.media),
            ("responseObject", request.response, request.response_media),
        )
        for member, body, media in bodies[: max(0, LEVELS.index(level) - 1)]:
            if stage in (STAGE, PANIC):
                add(audit_event, member, body, context.api_request, omits=omits, media=media)
        for sink in self._sinks:
            try:
                sink.append(audit_event)
            except OSError as error:
                if raises and sink.is_strict:
                    raise
                logger.error("the audit log cannot be written: %s", error)


def event(
    request: FinishedRequest, context: RequestContext, level: Level, stage: str = STAGE
) -> Object:
    """Return the `audit.k8s.io/v1` Event of a stage of a request, without bodies."""
    info, api_request = request.info, context.api_request
    result: Object = {
        "kind": "Event",
        "apiVersion": "audit.k8s.io/v1",
        "level": level,
        "auditID": context.id,
        "stage": stage,
        "requestURI": request.uri,
        "verb": info.verb,
        "user": context.user.info() if context.user else {},
        "sourceIPs": [*request.addresses],
        "userAgent": _shortened(request.agent),
    }
    is_response = stage != RECEIVED
    if is_response and context.impersonation is not None:
        result["impersonatedUser"] = context.impersonation.impersonated.info()
        if ":" in context.impersonation.verb:  # a constrained one
            constraint = {"impersonationConstraint": context.impersonation.verb}
            result["authenticationMetadata"] = constraint
    if info.is_resource:
        reference = {
            "resource": info.resource,
            "namespace": info.namespace,
            "name": info.name or (api_request.notes.name if api_request and is_response else ""),
            "apiGroup": info.group,
            "apiVersion": info.version,
            "subresource": info.subresource,
        }
        result["objectRef"] = {name: text for name, text in reference.items() if text}
    if is_response:
        result["responseStatus"] = _status(request)
    result["requestReceivedTimestamp"] = _micro(context.received)
    result["stageTimestamp"] = _micro(datetime.now(UTC) if is_response else context.received)
    if not is_response or (request.attempted and stage == STARTED):
        return result
    decision: dict[str, str] = {}
    if context.decision:
        decision["authorization.k8s.io/decision"] = context.decision
    if context.decision or context.reason:
        decision["authorization.k8s.io/reason"] = context.reason
    noted = api_request.notes.annotations if api_request else {}
    if level == "Metadata":  # a patch can contain what the level leaves out
        noted = {key: value for key, value in noted.items() if not key.startswith(_PATCHES)}
    annotations = {
        **decision,
        **noted,
        **({} if request.is_long else _latencies(context, stage)),
    }
    if annotations:
        result["annotations"] = annotations
    return result


def _shortened(agent: str) -> str:
    return agent if len(agent) <= _LONGEST_AGENT else f"{agent[:_LONGEST_AGENT]}...TRUNCATED"


def _latencies(context: RequestContext, stage: str) -> dict[str, str]:
    """Return the annotations of a slow request: where its time went (writeLatencyToAnnotation)."""
    total = (datetime.now(UTC) - context.received).total_seconds()
    if stage != STAGE or total <= _SLOW:
        return {}
    lifetime = context.lifetime
    parts = {**(lifetime.waits if lifetime is not None else {}), "total": total}
    return {f"apiserver.latency.k8s.io/{part}": _duration(parts[part]) for part in sorted(parts)}


def _duration(seconds: float) -> str:
    return gotime.format_duration(round(seconds * gotime.SECOND))


def _status(request: FinishedRequest) -> Object:
    result: Object = {"metadata": {}, "code": request.code}
    if request.attempted:
        return {**result, "message": request.attempted}
    if request.code >= 400:
        body = _decode(request.response, request.response_media)
        members = body if isinstance(body, dict) else {}
        names_of_status = ("status", "message", "reason", "details")
        result |= {name: members[name] for name in names_of_status if name in members}
    return result


def add(
    audit_event: Object,
    member: str,
    body: bytes,
    api_request: Request | None,
    *,
    omits: bool,
    media: str = "",
) -> None:
    """Add a body to an event if it is an object or a JSON patch, without the secret values of
    declared kinds; with `omits`, without managedFields. A body of a request that was refused early
    can be one of a declared kind."""
    decoded = _decode(body, media)
    if decoded is None:
        return
    if isinstance(decoded, list):
        is_sealed = api_request is None or api_request.resource.definition.has_secrets
        if not is_sealed:
            audit_event[member] = decoded
        return
    if api_request is None or api_request.resource.definition.has_secrets:
        sealing.redact(decoded)
    if omits:
        for obj in (decoded, *(decoded.get("items") or ())):
            if isinstance(obj, dict) and isinstance(obj.get("metadata"), dict):
                obj["metadata"].pop("managedFields", None)
    audit_event[member] = decoded


def _decode(body: bytes, media: str = "") -> "Object | list[Any] | None":
    """Decode a body of JSON, YAML or protobuf, which can be gzip. Returns None for others."""
    if body.startswith(b"\x1f\x8b"):
        body = gzip.decompress(body)
    if body.startswith(protobuf.envelopes.PREFIX):
        return _decode_protobuf(body)
    try:
        value = orjson.loads(body)
    except ValueError:
        if "yaml" not in media:
            return None
        try:
            value = golang.goyaml.loads(body).value
        except golang.unmarshal.DecodeError:
            return None  # a refused body
    return value if isinstance(value, dict | list) else None


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
