"""The audit log: an `audit.k8s.io/v1` Event for every stage of a request that the policy selects.

The event RequestReceived is written as soon as the user is known. Follows apiserver/pkg/audit
(request.go) and apiserver/pkg/endpoints/filters (audit.go, authn_audit.go).
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal, NamedTuple, Protocol

from inkube.apiserver.http import auditbodies
from inkube.apiserver.http.auditpolicy import (
    PANIC,
    RECEIVED,
    STAGE,
    STARTED,
    Level,
    Policy,
    Selection,
)
from inkube.apiserver.http.httprequest import Impersonation
from inkube.apiserver.http.requests import RequestInfo
from inkube.apiserver.registry import Lifetime, Request, User
from inkube.schemas.golang import gotime
from inkube.schemas.objects import Object

logger = logging.getLogger("inkube.audit")
_DEFAULT: Object = {"omitStages": [RECEIVED, STARTED], "rules": [{"level": "Metadata"}]}
_SLOW = 0.5  # seconds
_LONGEST_AGENT = 1024  # characters
_ERRORS, _NOT_ACCEPTABLE = 400, 406  # codes
_OF_STATUS = ("status", "message", "reason", "details")
_HEAD = 64  # the first bytes of a body, which name the kind of a Status
_PATCHES = "patch.webhook.admission.k8s.io/"


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
    stale_token: str = ""
    """How long the token should have been replaced; "" if not."""
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
        """Write the event of a stream whose response has begun, unless it is written."""
        if context.has_begun:
            return
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
            context.has_begun = True
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
        is_complete = stage in (STAGE, PANIC)
        if level in ("Request", "RequestResponse") and is_complete:
            add_request(audit_event, request, context, omits=omits)
        is_refused = stage == STARTED and request.code >= _ERRORS
        if level == "RequestResponse" and (is_complete or is_refused):
            add_response(audit_event, request, context, omits=omits)
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
    info, is_response = request.info, stage != RECEIVED
    return {
        "kind": "Event",
        "apiVersion": "audit.k8s.io/v1",
        "level": level,
        "auditID": context.id,
        "stage": stage,
        "requestURI": request.uri,
        "verb": info.verb,
        "user": context.user.info() if context.user else {},
        **(_impersonated(context.impersonation) if is_response else {}),
        "sourceIPs": [*request.addresses],
        **({"userAgent": _shortened(request.agent)} if request.agent else {}),
        **({"objectRef": _reference(context, info, stage)} if info.is_resource else {}),
        **({"responseStatus": _status(request)} if is_response else {}),
        "requestReceivedTimestamp": _micro(context.received),
        "stageTimestamp": _micro(datetime.now(UTC) if is_response else context.received),
        **_annotations(request, context, level, stage),
    }


def add_request(
    audit_event: Object, request: FinishedRequest, context: RequestContext, *, omits: bool
) -> None:
    """Add the object of a request to its event, if it has one; with `omits`, without
    managedFields."""
    body, media, verb = request.request, request.media, request.info.verb
    found = auditbodies.of_request(body, media, verb, context.api_request)
    if found is not None:
        audit_event["requestObject"] = auditbodies.without_managers(found) if omits else found


def add_response(
    audit_event: Object, request: FinishedRequest, context: RequestContext, *, omits: bool
) -> None:
    """Add the object of a response to an event, as `add_request`."""
    if not _is_logged(request) or (request.is_long and request.code < _ERRORS):
        return
    found = auditbodies.of_response(request.response, request.response_media, context.api_request)
    if found is not None:
        audit_event["responseObject"] = auditbodies.without_managers(found) if omits else found


def _impersonated(impersonation: Impersonation | None) -> Object:
    """Return the members about impersonation; none without it."""
    if impersonation is None:
        return {}
    result: Object = {"impersonatedUser": impersonation.impersonated.info()}
    if ":" in impersonation.verb:  # a constrained one
        result["authenticationMetadata"] = {"impersonationConstraint": impersonation.verb}
    return result


def _reference(context: RequestContext, info: RequestInfo, stage: str) -> Object:
    noted = context.api_request.notes.name if context.api_request and stage != RECEIVED else ""
    reference = {
        "resource": info.resource,
        "namespace": info.namespace,
        "name": info.name or noted,
        "apiGroup": info.group,
        "apiVersion": info.version,
        "subresource": info.subresource,
    }
    return {name: text for name, text in reference.items() if text}


def _annotations(
    request: FinishedRequest, context: RequestContext, level: Level, stage: str
) -> Object:
    """Return the member with the annotations of a stage; none without any."""
    if stage == RECEIVED or (request.attempted and stage == STARTED):
        return {}
    decision: dict[str, str] = {}
    if context.decision:
        decision["authorization.k8s.io/decision"] = context.decision
    if context.decision or context.reason:
        decision["authorization.k8s.io/reason"] = context.reason
    if context.stale_token:
        decision["authentication.k8s.io/stale-token"] = context.stale_token
    noted = context.api_request.notes.annotations if context.api_request else {}
    if level == "Metadata":  # a patch can contain what the level leaves out
        noted = {key: value for key, value in noted.items() if not key.startswith(_PATCHES)}
    latencies = {} if request.is_long else _latencies(context, stage)
    found = {**decision, **noted, **latencies}
    return {"annotations": found} if found else {}


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
    """Return the status of a response: its code, and what a Status in it tells
    (LogResponseObject)."""
    found: Object = {"message": request.attempted} if request.attempted else {}
    is_status = request.code >= _ERRORS or b"Status" in request.response[:_HEAD]
    if is_status and _is_logged(request):
        body = auditbodies.decode(request.response, request.response_media)
        if isinstance(body, dict) and body.get("kind") == "Status":
            found = body
    told: Object = {name: found[name] for name in _OF_STATUS if name in found}
    return {"metadata": {}, **told, "code": request.code}


def _is_logged(request: FinishedRequest) -> bool:
    """Return whether the body of a response is logged: not if the client accepts none of the media
    types of a resource (responsewriters.ErrorNegotiated)."""
    return not (request.info.is_resource and request.code == _NOT_ACCEPTABLE)


def _micro(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
