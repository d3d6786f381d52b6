"""The resource definition: what the generic registry needs to know of a kind.

Built-in kinds, CustomResourceDefinitions and kinds declared in Python all become a `Definition`.
Definitions are values: a changed CRD makes a new one. `schemas.crds` reads them from CRDs,
`schemas.builtin` from data, `schemas.models` from pydantic models.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Literal, NamedTuple

from inkube.schemas import releases
from inkube.schemas.fielderrors import FieldError
from inkube.schemas.meta import GVK, GVR
from inkube.schemas.status import StatusError

ALL_VERBS = (
    "create", "delete", "deletecollection", "get", "list", "patch", "update", "watch",
)  # fmt: skip


CUSTOM_VERBS = (
    "delete", "deletecollection", "get", "list", "patch", "create", "update", "watch",
)  # fmt: skip
"""The same in the order the reference lists them for custom resources."""


class Origin(Enum):
    """Where a kind comes from; a few answers of the reference differ by it."""

    BUILTIN = "builtin"
    CUSTOM = "custom"
    PYTHON = "python"


class Names(NamedTuple):
    """What a kind is called."""

    plural: str
    kind: str
    singular: str = ""
    list_kind: str = ""
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()


class Scale(NamedTuple):
    """Where the scale subresource finds its numbers, as dotted paths with a leading dot."""

    spec_replicas: str
    status_replicas: str
    label_selector: str = ""


class Subresource(NamedTuple):
    """What a kind answers under an object's name, as discovery tells it.

    `kind` is "" where it is the parent's own; `group` and `version` are "" where they are.
    """

    name: str
    kind: str = ""
    group: str = ""
    version: str = ""
    verbs: tuple[str, ...] = ("get", "patch", "update")
    is_open: bool = False
    """Whether it is answered whoever asks; it then finds out itself whom to believe."""


def subresources(*, status: bool, scale: Scale | None) -> tuple[Subresource, ...]:
    """Those that a kind has which is no built-in one."""
    found = [Subresource("status")] if status else []
    if scale is not None:
        found.append(Subresource("scale", "Scale", "autoscaling", "v1"))
    return tuple(found)


class Column(NamedTuple):
    """One printer column of `kubectl get`; `json_path` as in a CRD (`.spec.size`)."""

    name: str
    type: str
    json_path: str
    format: str = ""
    description: str = ""
    priority: int = 0
    counts: bool = False
    """Show how many items the list or map at the path has; this and what follows only kinds
    declared in Python can say."""
    tells_presence: bool = False
    """Show whether there is anything at the path: a label, say."""
    zero: Any = None
    """What is shown where there is nothing at the path."""


class SelectableField(NamedTuple):
    """A field for field selectors.

    `path` is the path of its value, with dots between members and `|` between alternatives (the
    first one that is not "" counts). `zero` replaces a missing value.
    """

    label: str
    path: str
    zero: str = ""
    choices: tuple[str, ...] = ()
    """The values that may be asked for; none: any."""
    prefix: str = ""
    """What a value that is asked for may begin with and is looked up without."""
    is_map: bool = False
    """Whether the path leads to a map, of which the selector names a key: `label[KEY]=value`."""

    @property
    def of_metadata(self) -> bool:
        """Whether every kind has it."""
        return self.label.startswith("metadata.")


UNKNOWN_FIELD = "field label not supported: {label}"
NAME_FIELD = SelectableField("metadata.name", "metadata.name")
NAMESPACE_FIELD = SelectableField("metadata.namespace", "metadata.namespace")


def selectable(
    paths: Iterable[str | SelectableField], *, namespaced: bool
) -> tuple[SelectableField, ...]:
    """What may be selected by of a kind that is no built-in one: name, namespace, its own paths."""
    own = (
        SelectableField(path.lstrip("."), path.lstrip(".")) if isinstance(path, str) else path
        for path in paths
    )
    return (NAME_FIELD, *((NAMESPACE_FIELD,) if namespaced else ()), *own)


@dataclass(frozen=True, slots=True, eq=False)
class Version:
    """One version of a kind. `schema` is its openAPIV3Schema as plain JSON; {} accepts anything."""

    name: str
    schema: dict[str, Any] = field(default_factory=dict)
    served: bool = True
    storage: bool = True
    status: bool = False
    scale: Scale | None = None
    subresources: tuple[Subresource, ...] = ()
    """All of them, status and scale included, in the order in which discovery lists them."""
    columns: tuple[Column, ...] = ()
    selectable_fields: tuple[SelectableField, ...] = (NAME_FIELD, NAMESPACE_FIELD)
    unknown_field: str = UNKNOWN_FIELD
    """What a field selector by something else is told."""
    only_equality: bool = False
    """Whether field selectors know `=` and `==` alone, and no empty value."""
    deprecated: bool = False
    deprecation_warning: str = ""

    def subresource(self, name: str) -> Subresource | None:
        """The subresource of that name."""
        return next((each for each in self.subresources if each.name == name), None)


@dataclass(frozen=True, slots=True, eq=False)
class Definition:
    """A kind and its versions; exactly one of them has `storage`."""

    group: str
    names: Names
    versions: tuple[Version, ...]
    namespaced: bool = True
    origin: Origin = Origin.CUSTOM
    minor: int = releases.NEWEST.minor
    """The minor of Kubernetes whose API server serves the kind: all that is made of the definition
    is made for it."""
    verbs: tuple[str, ...] = CUSTOM_VERBS
    instead: str = ""
    """What to do instead, for the refusal of a write whose verb is not there."""
    webhook: Mapping[str, Any] | None = field(default=None, hash=False)
    """The webhook that converts versions, if one does: `spec.conversion.webhook` of the CRD."""
    terminating: bool = False
    """The CRD is being deleted: what is there may go, nothing new may come."""

    name_check: Literal["subdomain", "label", "label1035", "path", "any"] = "subdomain"
    """How names look; `path` is what may be a segment of a path (RBAC)."""
    error_group: str | None = None
    """The group that a 422 names, where one object has two APIs; None: the kind's own."""
    create_on_update: bool = False
    """Whether PUT of a missing object creates it (AllowCreateOnUpdate)."""
    unconditional_update: bool = False
    """Whether PUT may leave out the resourceVersion (AllowUnconditionalUpdate)."""
    relaxed_subresources: bool = False
    """Whether these two hold for PUT of a subresource as well."""
    returns_deleted: bool = False
    """Whether DELETE answers the object instead of a Status (ReturnDeletedObject)."""
    deletes_in_phases: bool = False
    """Whether the kind has a way of its own to go, which `Strategy.prepare_for_delete` begins;
    preconditions read differently then."""
    dependents: Literal["delete", "orphan", "ignore"] = "delete"
    """What becomes of dependents when a DELETE does not say; `ignore`: it cannot be asked for."""
    undecided_warning: str = ""
    """What a DELETE that says nothing about dependents is warned of."""
    generation: tuple[str, ...] | None = None
    """Which members count the generation of a built-in kind; () keeps it at 1, None means that the
    kind has none. Custom resources count all but metadata and status."""
    revalidates: bool = False
    """Whether an update of a built-in kind judges the new object twice, since the kind's strategy
    and its ValidateUpdate both do: clients see each error twice in `details.causes`."""
    named_by_uid: bool = False
    """Whether a new object without a name gets a uid for one."""
    keeps_empty: tuple[str, ...] = ()
    """Lists (`spec.a.b`) that mean another thing when they are empty than when they are missing."""
    allocates: bool = False
    """Whether objects are given what no two may have (addresses, ports): a write that lost a race
    for it begins anew."""
    late_ownership: bool = False
    """Whether preparing a new object leaves alone what its creator comes to own: then the owners
    may be worked out after the validation."""
    malformed: Callable[[str, list[FieldError]], StatusError] | None = None
    """How a body that does not fit the schema is refused, by name and what is wrong; else 422."""
    max_body: int = 0
    """Bytes that a body may have; 0: as many as any."""
    versionless: Callable[[str], StatusError] | None = None
    """How a PUT without resourceVersion is refused, by name, if the kind has words of its own."""
    stale: Callable[[str], StatusError] | None = None
    """How a write of an older version is refused, by name, if the kind has words of its own."""

    @property
    def storage_version(self) -> Version:
        """The version objects are stored in."""
        return next(version for version in self.versions if version.storage)

    def version(self, name: str) -> Version | None:
        """The served version of that name."""
        return next((v for v in self.versions if v.name == name and v.served), None)

    def served(self) -> Iterator[Version]:
        """The versions clients may use, in declared order."""
        return (version for version in self.versions if version.served)

    def gvk(self, version: str) -> GVK:
        """Group, version and kind."""
        return GVK(self.group, version, self.names.kind)

    def gvr(self, version: str) -> GVR:
        """Group, version and plural."""
        return GVR(self.group, version, self.names.plural)
