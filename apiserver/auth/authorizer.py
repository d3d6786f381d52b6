"""The authorizer's protocol, and the authorizer that allows everything."""

from collections.abc import Iterable
from functools import partial
from typing import NamedTuple, Protocol

from inkube.apiserver.auth.attributes import MASTERS, Attributes, Decision, refusal
from inkube.apiserver.auth.pending import Pending, answered
from inkube.apiserver.auth.rules import EVERY_PATH, EVERYTHING, Rule
from inkube.apiserver.registry import User

YES = Decision(True)
_NO = Decision(False, "Everything is forbidden.")


class HeldRules(NamedTuple):
    """The rules that apply to a user."""

    rules: list[Rule]
    failure: str = ""
    """The errors of roles that cannot be read, and why rules are missing."""
    is_incomplete: bool = False
    """Whether the user can have rights that are no rules."""


class Authorizer(Protocol):
    """Decides whether a user may do an action. It never waits: if it needs the answer of another
    server, it raises Pending."""

    def decide(self, attributes: Attributes) -> Decision:
        """Return whether the action is allowed, and the reason."""
        ...

    def rules_for(self, user: User, namespace: str) -> HeldRules:
        """Return every rule that applies to a user in a namespace."""
        ...


async def decided(authorizer: Authorizer, attributes: Attributes) -> Decision:
    """Return a decision, after the answers of other servers that it needs."""
    try:
        return authorizer.decide(attributes)
    except Pending:
        return await answered(partial(authorizer.decide, attributes))


async def require(authorizer: Authorizer, attributes: Attributes) -> None:
    """Return if the action is allowed. Raises StatusError 403 otherwise."""
    decision = await decided(authorizer, attributes)
    if not decision.allowed:
        raise refusal(attributes, decision.reason)


def aggregate(errors: Iterable[str]) -> str:
    """Return the texts as `utilerrors.Aggregate` does: each one time, in brackets if there are
    several."""
    distinct = [each for each in dict.fromkeys(errors) if each]
    return distinct[0] if len(distinct) == 1 else f"[{', '.join(distinct)}]" if distinct else ""


class AlwaysDeny:
    """Allows the actions of the group `system:masters` only, as kube-apiserver does in each mode
    (authorizerfactory.NewPrivilegedGroups)."""

    def decide(self, attributes: Attributes) -> Decision:
        """Return whether the user is in the privileged group."""
        return YES if MASTERS in attributes.user.groups else _NO

    def rules_for(self, user: User, namespace: str) -> HeldRules:
        """Return no rules: the privileged group has none (alwaysDenyAuthorizer)."""
        return HeldRules([])


class AlwaysAllow:
    """Allows every action of every user."""

    def decide(self, attributes: Attributes) -> Decision:
        """Return that the action is allowed."""
        return YES

    def rules_for(self, user: User, namespace: str) -> HeldRules:
        """Return one rule that allows everything."""
        return HeldRules([EVERYTHING, EVERY_PATH])
