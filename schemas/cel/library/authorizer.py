"""The authorizer's functions: apiserver pkg/cel/library/authz.go.

Rules of a CRD have no variable of these types, but the names are declared there as well. A policy
supplies a value with the methods of `Authorizer`. Further calls use the objects that its methods
return.
"""

from typing import Any, Final, Protocol

from inkube.schemas.cel.declarations.estimates import CallEstimate, Range
from inkube.schemas.cel.declarations.functions import Impl, Overload
from inkube.schemas.cel.declarations.types import BOOL, STRING, Kind, Type

AUTHORIZER: Final = Type(Kind.OPAQUE, "kubernetes.authorization.Authorizer")
PATH_CHECK: Final = Type(Kind.OPAQUE, "kubernetes.authorization.PathCheck")
GROUP_CHECK: Final = Type(Kind.OPAQUE, "kubernetes.authorization.GroupCheck")
RESOURCE_CHECK: Final = Type(Kind.OPAQUE, "kubernetes.authorization.ResourceCheck")
DECISION: Final = Type(Kind.OPAQUE, "kubernetes.authorization.Decision")
CHECK_COST: Final = 350_000
"""An authorization check: two of them fit into the limit of one call."""


class Authorizer(Protocol):
    """The value of the variable `authorizer`; `cel_type` is AUTHORIZER.

    The results of `group` and `path` offer the further methods in the same way: `resource`,
    `subresource`, `namespace`, `name`, `fieldSelector`, `labelSelector`, `check`; and of `check`:
    `allowed`, `reason`, `errored`, `error`.
    """

    def path(self, path: str) -> Any:
        """Return a check of a URL's path."""

    def group(self, group: str) -> Any:
        """Return a check of an API group."""

    def serviceAccount(self, namespace: str, name: str) -> Any:  # noqa: N802  # CEL's name
        """Return an authorizer for the permissions of a service account."""


def _method(name: str) -> Impl:
    def call(value: Any, *arguments: Any) -> Any:
        return getattr(value, name)(*arguments)

    return call


def _overload(id: str, name: str, params: tuple[Type, ...], result: Type) -> Overload:
    if name != "check":
        return Overload(name, id, params, result, _method(name), receiver=True)
    estimate = CallEstimate(Range(CHECK_COST, CHECK_COST))
    return Overload(
        name, id, params, result, _method(name),
        receiver=True, cost=CHECK_COST, estimate=lambda _: estimate,
    )  # fmt: skip


OVERLOADS: Final = (
    _overload("authorizer_path", "path", (AUTHORIZER, STRING), PATH_CHECK),
    _overload("authorizer_group", "group", (AUTHORIZER, STRING), GROUP_CHECK),
    _overload(
        "authorizer_serviceaccount", "serviceAccount", (AUTHORIZER, STRING, STRING), AUTHORIZER
    ),
    _overload("pathcheck_check", "check", (PATH_CHECK, STRING), DECISION),
    _overload("groupcheck_resource", "resource", (GROUP_CHECK, STRING), RESOURCE_CHECK),
    _overload("resourcecheck_subresource", "subresource", (RESOURCE_CHECK, STRING), RESOURCE_CHECK),
    _overload("resourcecheck_namespace", "namespace", (RESOURCE_CHECK, STRING), RESOURCE_CHECK),
    _overload("resourcecheck_name", "name", (RESOURCE_CHECK, STRING), RESOURCE_CHECK),
    _overload(
        "authorizer_fieldselector", "fieldSelector", (RESOURCE_CHECK, STRING), RESOURCE_CHECK
    ),
    _overload(
        "authorizer_labelselector", "labelSelector", (RESOURCE_CHECK, STRING), RESOURCE_CHECK
    ),
    _overload("resourcecheck_check", "check", (RESOURCE_CHECK, STRING), DECISION),
    _overload("decision_errored", "errored", (DECISION,), BOOL),
    _overload("decision_error", "error", (DECISION,), STRING),
    _overload("decision_allowed", "allowed", (DECISION,), BOOL),
    _overload("decision_reason", "reason", (DECISION,), STRING),
)
