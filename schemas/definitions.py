"""The resource definition: the facts about a kind that the generic registry needs.

Built-in kinds, CustomResourceDefinitions and kinds declared in Python all become a `Definition`.
Definitions are values: a changed CRD makes a new one. `schemas.crds` reads them from CRDs,
`schemas.builtin` from data, `schemas.models` from pydantic models.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
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
"""`ALL_VERBS`, in the order in which kube-apiserver lists them for custom resources."""


class Origin(Enum):
    """The origin of a kind, on which a few responses of kube-apiserver depend."""

    BUILTIN = "builtin"
    CUSTOM = "custom"
    PYTHON = "python"


class Names(NamedTuple):
    """The names of a kind."""

    plural: str
    kind: str
    singular: str = ""
    list_kind: str = ""
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()


class Scale(NamedTuple):
    """The fields of the scale subresource, as dotted paths with a leading dot."""

    spec_replicas: str
    status_replicas: str
    label_selector: str = ""


class Subresource(NamedTuple):
    """A subresource of a kind, as discovery lists it.

    `kind`, `group` and `version` are "" if they are those of the parent kind.
    """

    name: str
    kind: str = ""
    group: str = ""
    version: str = ""
    verbs: tuple[str, ...] = ("get", "patch", "update")
    is_open: bool = False
    """Whether it is served without authentication; its handler then checks the client itself."""
    deprecated: bool = False
    """Whether OpenAPI documents mark its operations as deprecated."""


def subresources(*, status: bool, scale: Scale | None) -> tuple[Subresource, ...]:
    """Return the subresources of a kind that is not built in."""
    subresources = [Subresource("status")] if status else []
    if scale is not None:
        subresources.append(Subresource("scale", "Scale", "autoscaling", "v1"))
    return tuple(subresources)


class Column(NamedTuple):
    """One printer column of `kubectl get`; `json_path` as in a CRD (`.spec.size`)."""

    name: str
    type: str
    json_path: str
    format: str = ""
    description: str = ""
    priority: int = 0
    counts: bool = False
    """Show the number of items of the list or map at the path. Only kinds declared in Python can
    set this field and the next ones."""
    shows_presence: bool = False
    """Show whether the path has a value: a label, for example."""
    zero: Any = None
    """The value to show if the path has no value."""


class SelectableField(NamedTuple):
    """A field for field selectors.

    `path` is the path of its value, with dots between members and `|` between alternatives (the
    first one that is not "" counts). `zero` replaces a missing value.
    """

    label: str
    path: str
    zero: str = ""
    choices: tuple[str, ...] = ()
    """The values that a selector can contain; empty: any value."""
    prefix: str = ""
    """An optional prefix of a selector's value, which is removed before the comparison."""
    is_map: bool = False
    """Whether the path leads to a map; the selector then names a key: `label[KEY]=value`."""

    @property
    def of_metadata(self) -> bool:
        """Whether it is a field of metadata, which every kind has."""
        return self.label.startswith("metadata.")


UNKNOWN_FIELD = "field label not supported: {label}"
NAME_FIELD = SelectableField("metadata.name", "metadata.name")
NAMESPACE_FIELD = SelectableField("metadata.namespace", "metadata.namespace")


def selectable(
    paths: Iterable[str | SelectableField], *, namespaced: bool
) -> tuple[SelectableField, ...]:
    """Return the selectable fields of a kind that is not built in: name, namespace, then
    `paths`."""
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
    """All subresources, status and scale included, in the order in which discovery lists them."""
    columns: tuple[Column, ...] = ()
    selectable_fields: tuple[SelectableField, ...] = (NAME_FIELD, NAMESPACE_FIELD)
    unknown_field: str = UNKNOWN_FIELD
    """The error for a field selector with another field, with `{label}` for its name."""
    only_equality: bool = False
    """Whether field selectors accept only `=` and `==`, and refuse an empty value."""
    deprecated: bool = False
    deprecation_warning: str = ""

    def not_served(self) -> "Version":
        """Return the same version, which clients cannot request."""
        return replace(self, served=False)

    def subresource(self, name: str) -> Subresource | None:
        """Return the subresource with this name, None without one."""
        return next((each for each in self.subresources if each.name == name), None)


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Definition:
    """A kind and its versions; exactly one of them has `storage`."""

    group: str
    names: Names
    versions: tuple[Version, ...]
    namespaced: bool = True
    origin: Origin = Origin.CUSTOM
    minor: int = releases.NEWEST.minor
    """The minor of Kubernetes whose API server serves the kind. Everything that is derived from the
    definition follows this minor."""
    verbs: tuple[str, ...] = CUSTOM_VERBS
    instead: str = ""
    """An alternative, which the 405 of a write with a missing verb names."""
    webhook: Mapping[str, Any] | None = field(default=None, hash=False)
    """The webhook that converts versions, `spec.conversion.webhook` of the CRD; or None."""
    terminating: bool = False
    """Whether the CRD is being deleted: objects can be deleted, but not created."""

    name_check: Literal["subdomain", "label", "label1035", "path", "any", "generated"] = "subdomain"
    """The format of names; `path` accepts every name that can be a segment of a path (RBAC),
    `generated` every prefix of a subdomain."""
    error_group: str | None = None
    """The group in a 422, for a kind that two API groups serve; None: the kind's own group."""
    create_on_update: bool = False
    """Whether PUT of a missing object creates it (AllowCreateOnUpdate)."""
    unconditional_update: bool = False
    """Whether a PUT without a resourceVersion is accepted (AllowUnconditionalUpdate)."""
    relaxed_subresources: bool = False
    """Whether the two flags before this one also apply to PUT of a subresource."""
    returns_deleted: bool = False
    """Whether DELETE returns the object instead of a Status (ReturnDeletedObject)."""
    deletes_in_phases: bool = False
    """Whether the kind has its own deletion, which `Strategy.prepare_for_delete` starts. The errors
    of failed preconditions then have other texts."""
    is_uncached: bool = False
    """Whether kube-apiserver has no watch cache for the kind, whose lists of any version would
    ignore a limit (cacher.go, computeListLimit)."""
    dependents: Literal["delete", "orphan", "ignore"] = "delete"
    """The default propagation of a DELETE to dependents; `ignore`: requests cannot select one."""
    permanent: tuple[tuple[str, ...], str] = ((), "")
    """Names that a DELETE of one object refuses, and the reason. Upstream, the kind's own storage
    checks them, which a DELETE of the collection does not call."""
    undecided_warning: str = ""
    """The warning for a DELETE that does not specify a propagation; "": no warning."""
    generation: tuple[str, ...] | None = None
    """The members of a built-in kind (`metadata.labels`) whose changes increment the generation. ()
    keeps it at 1. None means that the kind has no generation. Custom resources count every member
    except metadata and status."""
    counts_empty: bool = False
    """Whether an empty list or map instead of a missing one is such a change (reflect.DeepEqual,
    where other kinds have equality.Semantic)."""
    revalidates: bool = False
    """Whether an update of a built-in kind validates the new object twice, because the kind's
    strategy and its ValidateUpdate both validate it. `details.causes` then has each error twice."""
    named_by_uid: bool = False
    """Whether a new object without a name gets a uid as its name."""
    keeps_empty: tuple[str, ...] = ()
    """Lists (`spec.a.b`) for which an empty list has another meaning than a missing one."""
    allocates: bool = False
    """Whether the server assigns unique values (addresses, ports) to objects. A write that loses a
    race for such a value restarts."""
    defers_ownership: bool = False
    """Whether the preparation of a new object does not change the fields that its creator will own.
    The field owners can then be computed after the validation."""
    malformed: Callable[[str, list[FieldError]], StatusError] | None = None
    """Makes the error for a body that does not fit the schema, from the name and the field errors.
    None: a 422."""
    has_secrets: bool = False
    """Whether clients send secret values, below `secure` (`sealing`)."""
    max_body: int = 0
    """The largest size of a body, in bytes; 0: the limit of all kinds."""
    versionless: Callable[[str], StatusError] | None = None
    """Makes the kind's own error for a PUT without resourceVersion, from the name."""
    stale: Callable[[str], StatusError] | None = None
    """Makes the kind's own error for a write with an old resourceVersion, from the name."""

    @property
    def storage_version(self) -> Version:
        """The version in which objects are stored."""
        return next(version for version in self.versions if version.storage)

    @property
    def is_stored(self) -> bool:
        """Whether objects of the kind are stored: reviews and bindings are only created."""
        return self.verbs != ("create",)

    def version(self, name: str) -> Version | None:
        """Return the served version with this name, None without one."""
        return next((v for v in self.versions if v.name == name and v.served), None)

    def served(self) -> Iterator[Version]:
        """Return the versions that clients can use, in declared order."""
        return (version for version in self.versions if version.served)

    def gvk(self, version: str) -> GVK:
        """Return group, version and kind."""
        return GVK(self.group, version, self.names.kind)

    def gvr(self, version: str) -> GVR:
        """Return group, version and plural."""
        return GVR(self.group, version, self.names.plural)
