"""Counts and durations of constrained impersonation, and of the permissions that it asks for.

Loaded at the first impersonation. Follows apiserver/pkg/endpoints/filters/impersonation/metrics.
"""

import time

from inkube.apiserver.auth import impersonation
from inkube.apiserver.auth.attributes import Attributes, Decision
from inkube.apiserver.auth.authorizer import Authorizer, HeldRules
from inkube.apiserver.registry import User
from inkube.apiserver.samples import Samples
from inkube.schemas.status import StatusError

_ATTEMPTS = "apiserver_impersonation_attempts"
_CHECKS = "apiserver_impersonation_authorization_attempts"


def become(
    target: User,
    attributes: Attributes,
    authorizer: Authorizer,
    last: impersonation.LastModes,
    samples: Samples,
) -> tuple[User, str]:
    """Return the same as `impersonation.become`, and record how it was decided. Raises StatusError
    403."""
    checks, begun = _Checks(authorizer), time.perf_counter()
    try:
        user, verb = impersonation.become(target, attributes, checks, last)
    except StatusError:
        checks.record(samples)
        _record(samples, _ATTEMPTS, "", "denied", time.perf_counter() - begun)
        raise
    checks.record(samples)
    _record(samples, _ATTEMPTS, _mode(verb), "allowed", time.perf_counter() - begun)
    return user, verb


class _Checks:
    """An authorizer whose decisions are recorded at the end: a decision for which another server
    must be asked is made again after its answer."""

    def __init__(self, authorizer: Authorizer) -> None:
        self._authorizer = authorizer
        self._decisions: list[tuple[str, str, float]] = []

    def decide(self, attributes: Attributes) -> Decision:
        begun = time.perf_counter()
        decision = self._authorizer.decide(attributes)
        result = "allowed" if decision.allowed else "denied"
        self._decisions.append((_mode(attributes.verb), result, time.perf_counter() - begun))
        return decision

    def rules_for(self, user: User, namespace: str) -> HeldRules:
        return self._authorizer.rules_for(user, namespace)

    def record(self, samples: Samples) -> None:
        for mode, result, seconds in self._decisions:
            _record(samples, _CHECKS, mode, result, seconds)


def _record(samples: Samples, name: str, mode: str, decision: str, seconds: float) -> None:
    samples.add(f"{name}_total", mode, decision)
    samples.observe(seconds, f"{name}_duration_seconds", mode, decision)


def _mode(verb: str) -> str:
    """Return the mode of a permission: its verb is `impersonate`, `impersonate:MODE` or
    `impersonate-on:MODE:VERB`."""
    _, _, rest = verb.partition(":")
    return rest.partition(":")[0] or "legacy"
