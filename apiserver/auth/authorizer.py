"""The authorizer's protocol, and the one that says yes."""

from typing import Any, Protocol

from inkube.apiserver.auth.attributes import Attributes, Decision, refusal
from inkube.apiserver.auth.rules import EVERY_PATH, EVERYTHING
from inkube.apiserver.registry import User

YES = Decision(True)


class Authorizer(Protocol):
    """Decides whether a user may do an action. It never waits, because all its data is in
    memory."""

    def decide(self, wanted: Attributes) -> Decision:
        """Whether it is allowed, and why."""
        ...

    def rules_for(self, user: User, namespace: str) -> tuple[list[dict[str, Any]], str]:
        """Every rule that applies to a user there, and what could not be resolved."""
        ...


def require(authorizer: Authorizer, wanted: Attributes) -> None:
    """Let it pass where it is allowed. Raises StatusError 403."""
    decision = authorizer.decide(wanted)
    if not decision.allowed:
        raise refusal(wanted, decision.reason)


class AlwaysAllow:
    """Every user may do everything."""

    def decide(self, wanted: Attributes) -> Decision:
        """Always allowed."""
        return YES

    def rules_for(self, user: User, namespace: str) -> tuple[list[dict[str, Any]], str]:
        """Everything."""
        return [EVERYTHING, EVERY_PATH], ""
