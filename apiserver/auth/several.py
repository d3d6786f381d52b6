"""Several authorizers in order: the first one with an opinion decides.

Loaded only with more than one. Follows apiserver/pkg/authorization/union.
"""

from collections.abc import Sequence

from inkube.apiserver.auth.attributes import MASTERS, Attributes, Decision
from inkube.apiserver.auth.authorizer import YES, Authorizer, HeldRules
from inkube.apiserver.registry import User


class Several:
    """Allows the actions of the group `system:masters`, and those that its authorizers allow."""

    def __init__(self, authorizers: Sequence[Authorizer]) -> None:
        self._authorizers = authorizers

    def decide(self, attributes: Attributes) -> Decision:
        """Return the first decision that allows or denies the action; without one, the reasons and
        errors of all."""
        if MASTERS in attributes.user.groups:
            return YES
        others = []
        for authorizer in self._authorizers:
            decision = authorizer.decide(attributes)
            if decision.allowed or decision.is_denied:
                return decision
            others.append(decision)
        reason = "\n".join(each.reason for each in others if each.reason)
        return Decision(False, reason, error=_joined([each.error for each in others]))

    def rules_for(self, user: User, namespace: str) -> HeldRules:
        """Return the rules that all authorizers know."""
        found = [each.rules_for(user, namespace) for each in self._authorizers]
        return HeldRules(
            [rule for held in found for rule in held.rules],
            _joined([held.failure for held in found]),
            any(held.is_incomplete for held in found),
        )


def _joined(texts: Sequence[str]) -> str:
    """Return `utilerrors.Aggregate` of errors."""
    distinct = [each for each in dict.fromkeys(texts) if each]
    return distinct[0] if len(distinct) == 1 else f"[{', '.join(distinct)}]" if distinct else ""
