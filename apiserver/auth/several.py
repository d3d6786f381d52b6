"""Several authorizers in order: the first one with an opinion decides.

Loaded only with more than one. Follows apiserver/pkg/authorization/union and
apiserver/pkg/authorization/metrics.
"""

from collections.abc import Sequence
from typing import NamedTuple

from inkube.apiserver.auth.attributes import MASTERS, Attributes, Decision
from inkube.apiserver.auth.authorizer import YES, Authorizer, HeldRules, aggregate
from inkube.apiserver.registry import User
from inkube.apiserver.samples import Samples

DECISIONS = "apiserver_authorization_decisions_total"


class Member(NamedTuple):
    """One authorizer, with its type and name in metrics, such as `RBAC` and `rbac`."""

    type: str
    name: str
    authorizer: Authorizer


class Several:
    """Allows the actions of the group `system:masters`, and those that its authorizers allow."""

    def __init__(
        self, members: Sequence[Member], samples: Samples, *, is_counted: bool = False
    ) -> None:
        """Decisions are counted from the start if `is_counted`, else once metrics are read."""
        self._members = members
        self._samples = samples
        self._is_counted = is_counted

    def decide(self, attributes: Attributes) -> Decision:
        """Return the first decision that allows or denies the action; without one, the reasons and
        errors of all."""
        if MASTERS in attributes.user.groups:
            return YES
        others: list[Decision] = []
        for member in self._members:
            decision = member.authorizer.decide(attributes)
            others.append(decision)
            if decision.allowed or decision.is_denied:
                self._count(others)
                return decision
        self._count(others)
        reason = "\n".join(each.reason for each in others if each.reason)
        return Decision(False, reason, error=aggregate([each.error for each in others]))

    def rules_for(self, user: User, namespace: str) -> HeldRules:
        """Return the rules that all authorizers know."""
        found = [each.authorizer.rules_for(user, namespace) for each in self._members]
        return HeldRules(
            [rule for held in found for rule in held.rules],
            aggregate([held.failure for held in found]),
            any(held.is_incomplete for held in found),
        )

    def _count(self, decisions: Sequence[Decision]) -> None:
        """Count the decisions of the first members, the last of which may have decided."""
        if not (self._is_counted or self._samples.is_observed):
            return
        for (kind, name, _), decision in zip(self._members, decisions, strict=False):
            for counter in decision.counters:
                self._samples.add(counter, kind, name)
            if decision.allowed or decision.is_denied:
                result = "allowed" if decision.allowed else "denied"
                self._samples.add(DECISIONS, kind, name, result)
