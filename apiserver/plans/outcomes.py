"""The outcome of an object, from the response to its apply and its states before and after."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple

from inkube.apiserver.plans import fields
from inkube.apiserver.plans.fields import FieldChange
from inkube.schemas.meta import GVR, split_api_version
from inkube.schemas.objects import Object

_IMMUTABLE = re.compile(
    r"immutable|may not change|may not be (changed|modified)|updates to .* (is|are) forbidden|"
    r"updates to .* for fields other than|updates may not change|cannot be changed"
)
"""Texts of kube-apiserver about fields that no update can change
(k8s.io/kubernetes/pkg/apis/*/validation)."""
_MANAGER = re.compile(r'conflict with "(?P<manager>[^"]*)"')


class Action(Enum):
    """What would happen to an object."""

    CREATE = "create"
    CHANGE = "change"
    UNCHANGED = "unchanged"
    DELETE = "delete"
    REPLACE = "replace"
    CONFLICT = "conflict"
    REFUSED = "refused"


FAILURES = frozenset({Action.REPLACE, Action.CONFLICT, Action.REFUSED})
"""The actions of objects that cannot be applied as they are."""


class Effect(NamedTuple):
    """What controllers would do to an object."""

    object: str
    text: str
    is_problem: bool = False


class Write(NamedTuple):
    """The request that writes an object: method, plural, body, query, media type."""

    method: str
    plural: str
    body: Object
    query: Mapping[str, str]
    media: str = ""
    desired: Object | None = None
    """The manifest, if the body is a patch."""

    @property
    def manifest(self) -> Object:
        """The object as it was given."""
        return self.body if self.desired is None else self.desired

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to send."""
        return self.method == "PATCH" and not self.body


@dataclass(frozen=True, slots=True)
class Outcome:
    """What would happen to one object."""

    source: str
    api_version: str
    kind: str
    namespace: str
    name: str
    action: Action
    resource_version: str = ""
    """The version of the object before the plan; "" for a new one."""
    changes: list[FieldChange] = field(default_factory=list)
    code: int = 0
    message: str = ""
    """The error of the server, as kubectl would print it."""
    owners: list[tuple[str, str]] = field(default_factory=list)
    """In a conflict: the fields, and the field manager that owns each."""
    warnings: list[str] = field(default_factory=list)
    webhooks: list[str] = field(default_factory=list)
    """The webhooks that would be called, which the plan has not called."""
    called_webhooks: list[str] = field(default_factory=list)
    """The webhooks that the plan has called."""
    mutations: list[FieldChange] = field(default_factory=list)
    """What these webhooks have changed."""
    uid: str = ""
    """The uid of the object before the plan; "" for a new one."""
    write: Write | None = None
    """The request; None if the kind is not served or the object has no name."""

    @property
    def title(self) -> str:
        """Kind and name of the object."""
        place = f"{self.namespace}/" if self.namespace else ""
        return f"{self.kind} {place}{self.name}"

    @property
    def resource(self) -> GVR:
        """The resource of the object. Only for an outcome with a request."""
        assert self.write is not None, "asked by the caller"
        return GVR(*split_api_version(self.api_version), self.write.plural)

    @property
    def path(self) -> str:
        """The path of the object. Only for an outcome with a request."""
        return self.resource.path(self.namespace, self.name)


def action_of(code: int, body: Object, before: Object | None) -> Action:
    """Return the action of a response to an apply."""
    if code in (200, 201):
        if before is None:
            return Action.CREATE
        same = fields.leaves(before) == fields.leaves(body)
        return Action.UNCHANGED if same else Action.CHANGE
    if code == 409 and owners(body):
        return Action.CONFLICT
    causes = (body.get("details") or {}).get("causes") or ()
    texts = [str(cause.get("message", "")) for cause in causes]
    is_immutable = bool(texts) and all(_IMMUTABLE.search(text) for text in texts)
    return Action.REPLACE if is_immutable and before is not None else Action.REFUSED


def owners(body: Object) -> list[tuple[str, str]]:
    """Return the fields of a conflict, each with its field manager."""
    causes = (body.get("details") or {}).get("causes") or ()
    found = []
    for cause in causes:
        match = _MANAGER.search(str(cause.get("message", "")))
        if cause.get("reason") == "FieldManagerConflict" and match:
            found.append((str(cause.get("field", "")), match["manager"]))
    return found
