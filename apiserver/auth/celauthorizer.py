"""The variable `authorizer` of CEL expressions in policies and webhooks.

Follows apiserver pkg/cel/library/authz.go.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

from inkube.apiserver.auth import serviceaccounts
from inkube.apiserver.auth.attributes import Attributes, Decision
from inkube.apiserver.auth.authorizer import Authorizer
from inkube.apiserver.registry import User
from inkube.schemas.cel import EvalError, Type
from inkube.schemas.cel import authorizer as cel


@dataclass(frozen=True, slots=True)
class DecisionValue:
    """The result of a check."""

    cel_type: ClassVar[Type] = cel.DECISION
    decision: Decision

    def allowed(self) -> bool:
        """Return whether the action is allowed."""
        return self.decision.allowed

    def reason(self) -> str:
        """Return the reason of the decision."""
        return self.decision.reason

    def errored(self) -> bool:
        """Return whether it could not be decided."""
        return bool(self.decision.error)

    def error(self) -> str:
        """Return why it could not be decided; "" if it could."""
        return self.decision.error


@dataclass(frozen=True, slots=True)
class PathCheck:
    """A check of a path."""

    cel_type: ClassVar[Type] = cel.PATH_CHECK
    authorizer: Authorizer
    attributes: Attributes

    def check(self, verb: str) -> DecisionValue:
        """Return the decision about a verb."""
        return DecisionValue(self.authorizer.decide(self.attributes._replace(verb=verb)))


@dataclass(frozen=True, slots=True)
class ResourceCheck:
    """A check of a resource. All methods except `check` return a narrower one."""

    cel_type: ClassVar[Type] = cel.RESOURCE_CHECK
    authorizer: Authorizer
    attributes: Attributes

    def _with(self, **changes: Any) -> "ResourceCheck":
        return ResourceCheck(self.authorizer, self.attributes._replace(**changes))

    def subresource(self, name: str) -> "ResourceCheck":
        """Restrict the check to a subresource."""
        return self._with(subresource=name)

    def namespace(self, name: str) -> "ResourceCheck":
        """Restrict the check to a namespace."""
        return self._with(namespace=name)

    def name(self, name: str) -> "ResourceCheck":
        """Restrict the check to one object."""
        return self._with(name=name)

    def fieldSelector(self, text: str) -> "ResourceCheck":  # noqa: N802 # CEL's name
        """Restrict the check to a field selector, which RBAC ignores."""
        return self

    def labelSelector(self, text: str) -> "ResourceCheck":  # noqa: N802 # CEL's name
        """Restrict the check to a label selector, which RBAC ignores."""
        return self

    def check(self, verb: str) -> DecisionValue:
        """Return the decision about a verb."""
        return DecisionValue(self.authorizer.decide(self.attributes._replace(verb=verb)))


@dataclass(frozen=True, slots=True)
class GroupCheck:
    """A check in an API group."""

    cel_type: ClassVar[Type] = cel.GROUP_CHECK
    authorizer: Authorizer
    user: User
    group: str

    def resource(self, name: str) -> ResourceCheck:
        """Return the check of a resource in any version."""
        attributes = Attributes(self.user, "", self.group, "*", name)
        return ResourceCheck(self.authorizer, attributes)


@dataclass(frozen=True, slots=True)
class UserAuthorizer:
    """The permissions of a user, as CEL expressions query them."""

    cel_type: ClassVar[Type] = cel.AUTHORIZER
    authorizer: Authorizer
    user: User

    def path(self, path: str) -> PathCheck:
        """Return the check of a path."""
        if not path:
            raise EvalError("path must not be empty")
        attributes = Attributes(self.user, "", path=path, is_resource=False)
        return PathCheck(self.authorizer, attributes)

    def group(self, group: str) -> GroupCheck:
        """Return the check of an API group."""
        return GroupCheck(self.authorizer, self.user, group)

    def serviceAccount(self, namespace: str, name: str) -> "UserAuthorizer":  # noqa: N802
        """Return the permissions of a service account."""
        user = User(
            f"{serviceaccounts.PREFIX}{namespace}:{name}", groups=serviceaccounts.groups(namespace)
        )
        return UserAuthorizer(self.authorizer, user)
