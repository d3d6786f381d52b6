"""The input of an authorizer, one action of one user, and the text of a rejection.

Follows apiserver/pkg/authorization/authorizer and
apiserver/pkg/endpoints/handlers/responsewriters/errors.go.
"""

from typing import NamedTuple

from inkube.apiserver.http import RequestInfo
from inkube.apiserver.registry import Request, User
from inkube.schemas import selectors, status
from inkube.schemas.golang import quote

MASTERS = "system:masters"
AUTHENTICATED = "system:authenticated"
UNAUTHENTICATED = "system:unauthenticated"
ANONYMOUS = User("system:anonymous", groups=(UNAUTHENTICATED,))
_SELECTING = frozenset({"list", "watch", "deletecollection"})
_VERBS = {"watchone": "watch"}


class Attributes(NamedTuple):
    """One action. `path` is set for requests that are not about a resource."""

    user: User
    verb: str
    group: str = ""
    version: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    path: str = ""
    is_resource: bool = True
    field_selector: str = ""
    """The field selector of a list, watch or deletion of a collection."""
    label_selector: "str | tuple[selectors.Requirement, ...]" = ""
    """Its label selector. Requirements of a review keep their order; those of a text are sorted."""

    @property
    def combined_resource(self) -> str:
        """The resource with its subresource: `pods`, or `pods/status`."""
        return f"{self.resource}/{self.subresource}" if self.subresource else self.resource


class Decision(NamedTuple):
    """An authorizer's decision. `reason` is for access reviews and error texts."""

    allowed: bool
    reason: str = ""
    is_denied: bool = False
    """Whether the action is denied whatever other authorizers say."""
    error: str = ""
    """Why the authorizer could not decide; "" if it could."""
    counters: tuple[str, ...] = ()
    """The metrics of match conditions that count it, beside that of decisions."""


def of_request(user: User, info: RequestInfo) -> Attributes:
    """Return the action of a request.

    A list of one name (`fieldSelector=metadata.name=a`) is an action on that name.
    """
    verb = _VERBS.get(info.verb, info.verb)
    if not info.is_resource:
        return Attributes(user, verb, path=info.path, is_resource=False)
    action = Attributes(
        user,
        verb,
        info.group,
        info.version,
        info.resource,
        info.subresource,
        info.namespace,
        info.name or info.selected_name,
    )
    if info.query and verb in _SELECTING and not info.deprecated_prefix:
        fields, labels = info.query.get("fieldSelector", ""), info.query.get("labelSelector", "")
        if "," in fields:
            fields = selectors.sorted_fields(fields)
        return action._replace(field_selector=fields, label_selector=labels)
    return action


def of_object(request: Request, verb: str, name: str) -> Attributes:
    """Return the action of a verb on the object of a request, for permissions that a handler needs
    in addition to that of the request."""
    return Attributes(
        request.user,
        verb,
        request.resource.group,
        request.served.name,
        request.resource.plural,
        request.subresource,
        request.namespace,
        name,
    )


def refusal(attributes: Attributes, reason: str = "") -> status.StatusError:
    """Return the error 403 with upstream's text (`ForbiddenStatusError`)."""
    user, verb = quote(attributes.user.name), attributes.verb
    if not attributes.is_resource:
        text = f"User {user} cannot {verb} path {quote(attributes.path)}"
    else:
        scope = "at the cluster scope"
        if attributes.namespace:
            scope = f"in the namespace {quote(attributes.namespace)}"
        text = (
            f"User {user} cannot {verb} resource {quote(attributes.combined_resource)} "
            f"in API group {quote(attributes.group)} {scope}"
        )
    if reason:
        text = f"{text}: {reason}"
    error = status.forbidden(attributes.group, attributes.resource, attributes.name, text)
    error.headers["X-Content-Type-Options"] = "nosniff"  # responsewriters.Forbidden
    return error
