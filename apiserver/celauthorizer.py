"""The variable `authorizer` of CEL expressions: checks of what the asking user may do.

Follows apiserver/pkg/cel/library/authz.go; selectors are accepted and not looked at.
"""

from dataclasses import dataclass, replace

from inkube.apiserver.auth.attributes import Attributes, Decision
from inkube.apiserver.auth.authorizer import Authorizer
from inkube.apiserver.calls import User
from inkube.schemas.cel.authorizer import (
    AUTHORIZER,
    DECISION,
    GROUP_CHECK,
    PATH_CHECK,
    RESOURCE_CHECK,
)
from inkube.schemas.cel.types import Type


class CELAuthorizer:
    """Asks for one user."""

    cel_type: Type = AUTHORIZER

    def __init__(self, authorizer: Authorizer, user: User) -> None:
        self._authorizer = authorizer
        self._user = user

    def path(self, path: str) -> "PathCheck":
        """A check of a URL's path."""
        return PathCheck(self._authorizer, Attributes(self._user, "", path=path, is_resource=False))

    def group(self, group: str) -> "GroupCheck":
        """A check of a resource of an API group."""
        return GroupCheck(self._authorizer, Attributes(self._user, "", group=group, version="*"))

    def serviceAccount(self, namespace: str, name: str) -> "CELAuthorizer":  # noqa: N802 # CEL's name
        """The same questions for a service account."""
        groups = (
            "system:serviceaccounts",
            f"system:serviceaccounts:{namespace}",
            "system:authenticated",
        )
        user = User(f"system:serviceaccount:{namespace}:{name}", groups=groups)
        return CELAuthorizer(self._authorizer, user)


@dataclass(frozen=True)
class Check:
    """Something to be decided."""

    authorizer: Authorizer
    wanted: Attributes

    def check(self, verb: str) -> "Verdict":
        """Decide about a verb."""
        return Verdict(self.authorizer.decide(replace(self.wanted, verb=verb)))


class PathCheck(Check):
    """A check of a path."""

    cel_type: Type = PATH_CHECK


class GroupCheck(Check):
    """A group; its resources can be checked."""

    cel_type: Type = GROUP_CHECK

    def resource(self, resource: str) -> "ResourceCheck":
        """A check of a resource."""
        return ResourceCheck(self.authorizer, replace(self.wanted, resource=resource))


class ResourceCheck(Check):
    """A check of a resource, narrowed step by step."""

    cel_type: Type = RESOURCE_CHECK

    def subresource(self, subresource: str) -> "ResourceCheck":
        """Of a subresource."""
        return ResourceCheck(self.authorizer, replace(self.wanted, subresource=subresource))

    def namespace(self, namespace: str) -> "ResourceCheck":
        """In a namespace."""
        return ResourceCheck(self.authorizer, replace(self.wanted, namespace=namespace))

    def name(self, name: str) -> "ResourceCheck":
        """Of one object."""
        return ResourceCheck(self.authorizer, replace(self.wanted, name=name))

    def fieldSelector(self, selector: str) -> "ResourceCheck":  # noqa: N802 # CEL's name
        """Of some objects; none of the authorizers here tells them apart."""
        return self

    def labelSelector(self, selector: str) -> "ResourceCheck":  # noqa: N802 # CEL's name
        """Of some objects; none of the authorizers here tells them apart."""
        return self


class Verdict:
    """What was decided. Authorizers here never fail."""

    cel_type: Type = DECISION

    def __init__(self, decision: Decision) -> None:
        self._decision = decision

    def allowed(self) -> bool:
        """Whether it is allowed."""
        return self._decision.allowed

    def reason(self) -> str:
        """Why."""
        return self._decision.reason

    def errored(self) -> bool:
        """Whether the decision failed."""
        return False

    def error(self) -> str:
        """Why it failed."""
        return ""
