"""The authorizer's protocol, and the authorizer that allows everything."""

from typing import Any, Protocol

from inkube.apiserver.auth.attributes import MASTERS, Attributes, Decision, refusal
from inkube.apiserver.auth.rules import EVERY_PATH, EVERYTHING
from inkube.apiserver.registry import User

YES = Decision(True)
_NO = Decision(False, "Everything is forbidden.")


class Authorizer(Protocol):
    """Decides whether a user may do an action. It never waits, because all its data is in
    memory."""

    def decide(self, attributes: Attributes) -> Decision:
        """Return whether the action is allowed, and the reason."""
        ...

    def rules_for(self, user: User, namespace: str) -> tuple[list[dict[str, Any]], str]:
        """Return every rule that applies to a user in a namespace, and the errors of roles that
        cannot be read."""
        ...


def require(authorizer: Authorizer, attributes: Attributes) -> None:
    """Return if the action is allowed. Raises StatusError 403 otherwise."""
    decision = authorizer.decide(attributes)
    if not decision.allowed:
        raise refusal(attributes, decision.reason)


class AlwaysDeny:
    """Allows the actions of the group `system:masters` only, as kube-apiserver does in each mode
    (authorizerfactory.NewPrivilegedGroups)."""

    def decide(self, attributes: Attributes) -> Decision:
        """Return whether the user is in the privileged group."""
        return YES if MASTERS in attributes.user.groups else _NO

    def rules_for(self, user: User, namespace: str) -> tuple[list[dict[str, Any]], str]:
        """Return one rule that allows everything, or none."""
        return ([EVERYTHING, EVERY_PATH] if MASTERS in user.groups else []), ""


class AlwaysAllow:
    """Allows every action of every user."""

    def decide(self, attributes: Attributes) -> Decision:
        """Return that the action is allowed."""
        return YES

    def rules_for(self, user: User, namespace: str) -> tuple[list[dict[str, Any]], str]:
        """Return one rule that allows everything."""
        return [EVERYTHING, EVERY_PATH], ""
