"""The authorizers of a server, from the modes of a flag or an AuthorizationConfiguration.

Loaded only if there is more than one mode, or a mode with a file. Follows
pkg/kubeapiserver/options/authorization.go and apiserver/pkg/apis/apiserver/validation.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from inkube.apiserver import auth
from inkube.apiserver.access.configs import objects
from inkube.apiserver.samples import Samples
from inkube.schemas import fielderrors
from inkube.schemas.fielderrors import FieldError
from inkube.schemas.golang import gotime
from inkube.schemas.metadata import names
from inkube.schemas.objects import Object
from inkube.schemas.policies import Expression, ExpressionError, expressions

TYPES: Final = ("ABAC", "AlwaysAllow", "AlwaysDeny", "Node", "RBAC", "Webhook")
_KIND: Final = "AuthorizationConfiguration"
_SHAPE: objects.Shape = {
    "authorizers": [
        {
            "type": None,
            "name": None,
            "webhook": {
                "authorizedTTL": None,
                "cacheAuthorizedRequests": None,
                "unauthorizedTTL": None,
                "cacheUnauthorizedRequests": None,
                "timeout": None,
                "subjectAccessReviewVersion": None,
                "matchConditionSubjectAccessReviewVersion": None,
                "failurePolicy": None,
                "connectionInfo": {"type": None, "kubeConfigFile": None},
                "matchConditions": [{"expression": None}],
            },
        }
    ]
}
_MAX_CONDITIONS = 64
_LONGEST = 30.0  # seconds that a webhook may take
_DEFAULT_TTLS: Final = {"authorizedTTL": 300.0, "unauthorizedTTL": 30.0}
"""Seconds instead of 0 or no value (SetDefaults_WebhookConfiguration)."""
_IN_CLUSTER, _FILE = "InClusterConfig", "KubeConfigFile"


class Modes(NamedTuple):
    """The types and names of authorizers in their order, and the webhooks: settings, kubeconfig
    and seconds of a call."""

    types: Sequence[str]
    names: Sequence[str]
    webhooks: Sequence[tuple["auth.WebhookSettings", Path, float]] = ()


def read(
    source: "Path | str | Mapping[str, Any]", required: Collection[str] | None = None
) -> Modes:
    """Read a file, or an object. With `required`, it must contain exactly these types and webhooks.
    Raises ValueError."""
    members = objects.read(source, _KIND, _SHAPE, _KIND)
    authorizers = members.get("authorizers") or ()
    conditions: list[list[Expression]] = []
    errors = list(_problems(authorizers, conditions))
    if errors:
        raise ValueError(fielderrors.joined(errors))
    _check_types(authorizers, required)
    webhooks = (each for each in authorizers if each["type"] == "Webhook")
    return Modes(
        [each["type"] for each in authorizers],
        [each["name"] for each in authorizers],
        [_webhook(*pair) for pair in zip(webhooks, conditions, strict=True)],
    )


def _check_types(authorizers: Sequence[Object], required: Collection[str] | None) -> None:
    """Raise ValueError for a wrong name or set of authorizers that are no webhooks
    (pkg/kubeapiserver/authorizer, LoadAndValidateData and newForConfig)."""
    names = {each["type"]: each["name"] for each in authorizers if each["type"] != "Webhook"}
    problems = [
        f"expected name {kind.lower()} for authorizer {kind} instead of {name}"
        for kind, name in names.items()
        if name != kind.lower()
    ]
    if required is not None:
        if missing := sorted({*required} - {*names}):
            problems.append(f"missing required types: [{' '.join(missing)}]")
        problems += (
            f"authorizer type {kind} is not allowed if it was not enabled at initial server startup"
            for kind in names
            if kind not in required
        )
    if problems:
        raise ValueError(problems[0] if len(problems) == 1 else f"[{', '.join(problems)}]")


def _webhook(
    member: Object, conditions: Sequence[Expression]
) -> tuple["auth.WebhookSettings", Path, float]:
    spec = member["webhook"]
    settings = auth.WebhookSettings(
        name=member["name"],
        version=spec["subjectAccessReviewVersion"],
        authorized_ttl=_ttl(spec, "authorizedTTL", "cacheAuthorizedRequests"),
        unauthorized_ttl=_ttl(spec, "unauthorizedTTL", "cacheUnauthorizedRequests"),
        denies_after_errors=spec["failurePolicy"] == "Deny",
        conditions=conditions,
    )
    return settings, Path(spec["connectionInfo"]["kubeConfigFile"]), _seconds(spec["timeout"])


def _ttl(spec: Object, member: str, switch: str) -> float:
    if spec.get(switch) is False:
        return 0.0
    return _seconds(spec.get(member) or "0s") or _DEFAULT_TTLS[member]


def _seconds(duration: str) -> float:
    return gotime.parse_duration(duration) / 1e9


def _problems(
    authorizers: Sequence[Object], conditions: list[list[Expression]]
) -> Iterator[FieldError]:
    """Yield the errors of authorizers, and collect the conditions of each webhook."""
    if not authorizers:
        yield fielderrors.required("authorizers", "at least one authorization mode must be defined")
    seen: set[str] = set()
    labels: set[str] = set()
    for index, member in enumerate(authorizers):
        place, kind = f"authorizers[{index}]", member.get("type") or ""
        if not kind:
            yield fielderrors.required(f"{place}.type")
            continue
        if kind not in TYPES:
            yield fielderrors.not_supported(f"{place}.type", kind, TYPES)
            continue
        if kind in seen and kind != "Webhook":
            yield fielderrors.duplicate(f"{place}.type", kind)
            continue
        seen.add(kind)
        yield from _name_problems(place, member.get("name") or "", labels)
        webhook = member.get("webhook")
        if kind != "Webhook":
            if webhook is not None:
                why = "may only be specified when type=Webhook"
                yield fielderrors.invalid(f"{place}.webhook", "non-null", why)
        elif webhook is None:
            yield fielderrors.required(f"{place}.webhook", "required when type=Webhook")
        else:
            yield from _webhook_problems(place, webhook)
            compiled: list[Expression] = []
            yield from _condition_problems(place, webhook.get("matchConditions") or (), compiled)
            conditions.append(compiled)


def _name_problems(place: str, name: str, labels: set[str]) -> Iterator[FieldError]:
    if not name:
        yield fielderrors.required(f"{place}.name")
    elif name in labels:
        yield fielderrors.duplicate(f"{place}.name", name)
    elif problems := names.dns1123_subdomain(name):
        why = f"authorizer name is invalid: {', '.join(problems)}"
        yield fielderrors.invalid(f"{place}.name", name, why)
    labels.add(name)


def _webhook_problems(place: str, spec: Object) -> Iterator[FieldError]:
    for member, limit, why in (
        ("timeout", _LONGEST, "must be > 0s and <= 30s"),
        ("authorizedTTL", float("inf"), "must be > 0s"),
        ("unauthorizedTTL", float("inf"), "must be > 0s"),
    ):
        is_required = member not in _DEFAULT_TTLS
        path = f"{place}.{member}"
        yield from _duration_problems(path, spec.get(member), limit, why, is_required)
    yield from _choice_problems(
        f"{place}.subjectAccessReviewVersion",
        spec.get("subjectAccessReviewVersion"),
        ("v1", "v1beta1"),
    )
    version = spec.get("matchConditionSubjectAccessReviewVersion") or ""
    path = f"{place}.matchConditionSubjectAccessReviewVersion"
    if not version and spec.get("matchConditions"):
        yield fielderrors.required(path, "required if match conditions are specified")
    elif version and version != "v1":
        yield fielderrors.not_supported(path, version, ("v1",))
    policies = ("NoOpinion", "Deny")
    yield from _choice_problems(f"{place}.failurePolicy", spec.get("failurePolicy"), policies)
    connection = spec.get("connectionInfo") or {}
    yield from _connection_problems(f"{place}.connectionInfo", connection)


def _duration_problems(
    path: str, value: Any, limit: float, why: str, is_required: bool
) -> Iterator[FieldError]:
    try:
        seconds = _seconds(value or "0s")
    except (ValueError, TypeError) as error:
        yield fielderrors.invalid(path, value, str(error))
        return
    if not seconds:
        if is_required:
            yield fielderrors.required(path)
    elif not 0 < seconds <= limit:
        yield fielderrors.invalid(path, value, why)


def _choice_problems(path: str, value: Any, choices: Sequence[str]) -> Iterator[FieldError]:
    if not value:
        yield fielderrors.required(path)
    elif value not in choices:
        yield fielderrors.not_supported(path, value, choices)


def _connection_problems(path: str, connection: Object) -> Iterator[FieldError]:
    kind, file = connection.get("type") or "", connection.get("kubeConfigFile") or ""
    where = f"{path}.kubeConfigFile"
    if not kind:
        yield fielderrors.required(f"{path}.type")
    elif kind == _IN_CLUSTER:
        yield fielderrors.invalid(f"{path}.type", kind, "this server runs in no cluster")
    elif kind != _FILE:
        yield fielderrors.not_supported(f"{path}.type", kind, (_IN_CLUSTER, _FILE))
    elif not file:
        yield fielderrors.required(where)
    elif not Path(file).is_absolute():
        yield fielderrors.invalid(where, file, "must be an absolute path")
    elif not Path(file).exists():
        why = f"error loading file: stat {file}: no such file or directory"
        yield fielderrors.invalid(where, file, why)
    elif not Path(file).is_file():
        yield fielderrors.invalid(where, file, "must be a regular file")


def _condition_problems(
    place: str, members: Sequence[Object], compiled: list[Expression]
) -> Iterator[FieldError]:
    if len(members) > _MAX_CONDITIONS:
        path = f"{place}.matchConditions"
        yield fielderrors.too_many(path, len(members), _MAX_CONDITIONS)
        return
    seen: set[str] = set()
    for index, member in enumerate(members):
        path = f"{place}.matchConditions[{index}].expression"
        text = member.get("expression") or ""
        if not text.strip():
            yield fielderrors.required(path)
        elif text in seen:
            yield fielderrors.duplicate(path, text)
        else:
            seen.add(text)
            try:
                environment = auth.authorizationwebhook.ENVIRONMENT
                compiled.append(expressions.compiled(text, environment, expressions.CONDITION))
            except ExpressionError as error:
                yield fielderrors.invalid(path, text, str(error))


def webhooks(
    modes: Modes, client: "auth.Outgoing", monotonic: Callable[[], float], samples: Samples
) -> "Iterator[auth.WebhookAuthorizer]":
    """Yield the authorizers of webhooks. Raises ValueError, OSError for a kubeconfig."""
    for settings, path, seconds in modes.webhooks:
        observe = auth.authorizationwebhook.observer(samples, settings.name)
        target = auth.webhookcalls.read(path)
        webhook = auth.Webhook(target, client, seconds, observe=observe)
        yield auth.WebhookAuthorizer(webhook, settings, monotonic, samples)
