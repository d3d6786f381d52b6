"""An authorizer that asks a webhook with SubjectAccessReviews, if its match conditions hold.

Loaded with the first such webhook, because conditions import CEL. Follows
apiserver/plugin/pkg/authorizer/webhook and apiserver/pkg/authorization/cel.
"""

import json
import logging
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final, NamedTuple

from inkube.apiserver.auth import pending
from inkube.apiserver.auth.attributes import Attributes, Decision
from inkube.apiserver.auth.authorizer import HeldRules
from inkube.apiserver.auth.outgoing import CallError
from inkube.apiserver.auth.webhookcalls import Remembered, Webhook, result_of
from inkube.apiserver.registry import User
from inkube.apiserver.samples import Samples
from inkube.schemas import selectors, status
from inkube.schemas.cel import FUNCTIONS, CelError, Environment
from inkube.schemas.objects import Object
from inkube.schemas.policies import ACCESS_REVIEW, Expression, expressions

logger = logging.getLogger(__name__)
ENVIRONMENT: Final = Environment(FUNCTIONS, {"request": ACCESS_REVIEW})
_OPERATORS: Final = {
    **dict.fromkeys(("=", "==", "in"), "In"),
    **dict.fromkeys(("!=", "notin"), "NotIn"),
    "exists": "Exists",
    "!": "DoesNotExist",
}
_MAX_REMEMBERED = 8192
_MAX_KEY = 10_000  # characters of a question whose answer is remembered
_METRICS = "apiserver_authorization"
_EXCLUDED = f"{_METRICS}_match_condition_exclusions_total"
_NOT_EVALUATED = f"{_METRICS}_match_condition_evaluation_errors_total"
_ERROR = "webhook subject access review returned both allow and deny response"


class WebhookSettings(NamedTuple):
    """The settings of one webhook. The times are in seconds."""

    name: str = ""
    version: str = "v1"
    authorized_ttl: float = 300.0
    unauthorized_ttl: float = 30.0
    denies_after_errors: bool = False
    conditions: Sequence[Expression] = ()


class WebhookAuthorizer:
    """Decides as a webhook does. It has an opinion if the webhook allows or denies."""

    def __init__(
        self,
        webhook: Webhook,
        settings: WebhookSettings,
        monotonic: Callable[[], float],
        samples: Samples,
    ) -> None:
        self._webhook = webhook
        self._settings = settings
        self._samples = samples
        self._answers = Remembered(monotonic, _MAX_REMEMBERED)

    def decide(self, attributes: Attributes) -> Decision:
        """Return the decision. Raises Pending until the webhook has answered."""
        spec = review_spec(attributes)
        failures: list[str] = []
        if not self._concerns(spec, failures):
            return Decision(False, counters=(_EXCLUDED, *_counters(failures)))
        if failures:
            failure = failures[0] if len(failures) == 1 else f"[{', '.join(failures)}]"
            return self._failed(failure, _counters(failures))
        key = json.dumps(spec, sort_keys=True)
        answer = self._answers.get(key)
        if answer is None:
            question = "access", self._settings.name, key
            answer = pending.answer(question, partial(self._fetch, key, spec))
        if isinstance(answer, CallError):
            return self._failed(str(answer))
        reason = answer.get("reason") or ""
        if answer.get("denied"):
            why = _ERROR if answer.get("allowed") else ""
            return Decision(False, reason, is_denied=True, error=why)
        return Decision(bool(answer.get("allowed")), reason)

    def rules_for(self, user: User, namespace: str) -> HeldRules:
        """Return no rules: a webhook cannot list them."""
        failure = "webhook authorizer does not support user rule resolution"
        return HeldRules([], failure, is_incomplete=True)

    def _failed(self, error: str, counters: tuple[str, ...] = ()) -> Decision:
        is_denied = self._settings.denies_after_errors
        return Decision(False, is_denied=is_denied, error=error, counters=counters)

    def _concerns(self, spec: Object, failures: list[str]) -> bool:
        """Return whether no condition is false, and collect the errors of conditions."""
        values = {"request": _seen(spec)}
        for condition in self._settings.conditions:
            try:
                if condition.evaluate(values, expressions.Budget()) is not True:
                    return False
            except CelError as error:
                text = expressions.resulted(condition, error)
                failures.append(f"cel evaluation error: {text}")
        return True

    async def _fetch(self, key: str, spec: Object) -> "Object | CallError":
        version = self._settings.version
        sent = spec
        if version == "v1beta1":
            sent = {"group" if name == "groups" else name: each for name, each in spec.items()}
        review: Object = {
            "kind": "SubjectAccessReview",
            "apiVersion": f"authorization.k8s.io/{version}",
            "metadata": {},
            "spec": sent,
            "status": {"allowed": False},
        }
        try:
            found: Object = (await self._webhook.send(review)).get("status") or {}
        except CallError as error:
            logger.warning("Failed to make webhook authorizer request: %s", error)
            settings = self._settings
            if not settings.denies_after_errors:
                name = f"{_METRICS}_webhook_evaluations_fail_open_total"
                self._samples.add(name, settings.name, result_of(error))
            return error
        if len(key) < _MAX_KEY:
            is_allowed = bool(found.get("allowed"))
            settings = self._settings
            ttl = settings.authorized_ttl if is_allowed else settings.unauthorized_ttl
            self._answers.put(key, found, ttl)
        return found


def observer(samples: Samples, name: str) -> Callable[[str, float], None]:
    """Return a function that records the result and the seconds of each call of a webhook."""

    def observe(result: str, seconds: float) -> None:
        samples.add(f"{_METRICS}_webhook_evaluations_total", name, result)
        samples.observe(seconds, f"{_METRICS}_webhook_duration_seconds", name, result)

    return observe


def _counters(failures: Sequence[str]) -> tuple[str, ...]:
    return (_NOT_EVALUATED,) if failures else ()


def review_spec(attributes: Attributes) -> Object:
    """Return an action as the `spec` of a SubjectAccessReview, without empty members."""
    user = attributes.user
    spec: Object = {"user": user.name, "groups": list(user.groups), "uid": user.uid}
    if user.extra:
        spec["extra"] = {key: list(values) for key, values in user.extra}
    if attributes.is_resource:
        members: Object = {
            "namespace": attributes.namespace,
            "verb": attributes.verb,
            "group": attributes.group,
            "version": attributes.version,
            "resource": attributes.resource,
            "subresource": attributes.subresource,
            "name": attributes.name,
            "fieldSelector": _requirements(_of_fields, attributes.field_selector),
            "labelSelector": _requirements(_of_labels, attributes.label_selector),
        }
        spec["resourceAttributes"] = {name: value for name, value in members.items() if value}
    else:
        spec["nonResourceAttributes"] = {"path": attributes.path, "verb": attributes.verb}
    return {name: value for name, value in spec.items() if value}


def _requirements(parse: Callable[[Any], list[Object]], selector: object) -> Object | None:
    """Return the conditions of a selector; None without one, or if it is invalid: the handler
    refuses it."""
    try:
        found = parse(selector) if selector else []
    except status.StatusError:
        return None
    return {"requirements": found} if found else None


def _of_fields(selector: str) -> list[Object]:
    return [
        {"key": term.path, "operator": "NotIn" if term.negated else "In", "values": [term.value]}
        for term in selectors.parse_fields(selector)
    ]


def _of_labels(selector: str | tuple[selectors.Requirement, ...]) -> list[Object]:
    parsed = selectors.parse_labels(selector) if isinstance(selector, str) else selector
    understood = (each for each in parsed if each.operator in _OPERATORS)
    return [
        {"key": each.key, "operator": _OPERATORS[each.operator]}
        | ({"values": list(each.values)} if each.values else {})
        for each in understood
    ]


def _seen(spec: Object) -> Object:
    """Return a `spec` as conditions see it: with all members of texts, also the empty ones."""
    seen: dict[str, Any] = {"user": "", "groups": [], "uid": "", "extra": {}, **spec}
    if "resourceAttributes" in spec:
        members = ("namespace", "verb", "group", "version", "resource", "subresource", "name")
        seen["resourceAttributes"] = {**dict.fromkeys(members, ""), **spec["resourceAttributes"]}
    return seen
