"""Groups under k8s.io and kubernetes.io need an approval annotation.

Follows apiextensions-apiserver/pkg/apihelpers/helpers.go (GetAPIApprovalState) and
pkg/controller/apiapproval.
"""

from enum import Enum
from typing import NamedTuple

from inkube.schemas import fielderrors
from inkube.schemas.crds import conditions
from inkube.schemas.fielderrors import FieldError
from inkube.schemas.golang import gotext, gourl
from inkube.schemas.objects import Object

ANNOTATION = "api-approved.kubernetes.io"
_PROTECTED = ("k8s.io", "kubernetes.io")
_POLICY = "see https://github.com/kubernetes/enhancements/pull/1111"
_FIELD = f"metadata.annotations[{ANNOTATION}]"


class State(Enum):
    """The meaning of the annotation."""

    MISSING = "MissingAnnotation"
    INVALID = "InvalidAnnotation"
    APPROVED = "ApprovedAnnotation"
    BYPASSED = "UnapprovedAnnotation"


class Approval(NamedTuple):
    """The state, and its text for conditions and errors."""

    state: State
    message: str


def is_protected(group: str) -> bool:
    """Return whether CRDs of the group need approval."""
    return any(group == suffix or group.endswith("." + suffix) for suffix in _PROTECTED)


def read(crd: Object) -> Approval:
    """Return the approval of a CRD, from its annotation."""
    value = (crd["metadata"].get("annotations") or {}).get(ANNOTATION, "")
    needs = f"protected groups must have approval annotation {gotext.quote(ANNOTATION)}"
    if not value:
        return Approval(State.MISSING, f"{needs}, {_POLICY}")
    if value.startswith("unapproved"):
        return Approval(State.BYPASSED, f"not approved: {gotext.quote(value)}")
    if _is_absolute_url(value):
        return Approval(State.APPROVED, f"approved in {value}")
    detail = f'{needs} with either a URL or a reason starting with "unapproved", {_POLICY}'
    return Approval(State.INVALID, detail)


def _is_absolute_url(text: str) -> bool:
    try:
        url = gourl.parse(text)
    except ValueError:
        return False
    return bool(url.scheme and url.host)


def validate(crd: Object, old: Object | None) -> list[FieldError]:
    """Return the error of a missing or invalid annotation, unless `old` has the same state."""
    if not is_protected(crd["spec"]["group"]):
        return []
    state, message = read(crd)
    if old is not None and read(old).state is state:
        return []
    if state is State.MISSING:
        return [fielderrors.required(_FIELD, message)]
    if state is State.INVALID:
        return [fielderrors.invalid(_FIELD, crd["metadata"]["annotations"][ANNOTATION], message)]
    return []


def condition(crd: Object) -> Object | None:
    """Return the condition of a CRD in a protected group; None for other groups."""
    if not is_protected(crd["spec"]["group"]):
        return None
    state, message = read(crd)
    status = "True" if state is State.APPROVED else "False"
    return conditions.condition(conditions.APPROVAL, status, state.value, message)
