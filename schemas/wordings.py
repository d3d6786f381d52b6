"""Texts and formats that differ between the API servers of a cluster: one value per family.

    EXTENSIONS   apiextensions-apiserver: custom resources
    PYTHON       kinds declared in Python: custom resources with less strict checks of bodies
    KUBERNETES   kube-apiserver, CustomResourceDefinitions among its kinds

HTTP responses, discovery, tables and OpenAPI documents use the same value, so that they do not
depend on the origin of a kind. Strategies decide which changes to objects are valid.
"""

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from itertools import zip_longest
from typing import Any, ClassVar

from inkube.schemas import bodies, caches, dialects, fielderrors, releases, status
from inkube.schemas.builtin import columns, decoding, gates
from inkube.schemas.definitions import Definition, Origin, Scale, Subresource
from inkube.schemas.dialects import Dialect
from inkube.schemas.fielderrors import FieldError
from inkube.schemas.golang import DecodeError, gotext
from inkube.schemas.gotypes import table
from inkube.schemas.lazyproperty import cached_property
from inkube.schemas.meta import GVK, GVR, canonical_api_version
from inkube.schemas.metadata import objectmeta
from inkube.schemas.objects import Object
from inkube.schemas.selectors import format_selector
from inkube.schemas.served import Served
from inkube.schemas.status import StatusError

UNKNOWN_FORMAT = "the body of the request was in an unknown format - accepted media types include: "
_NO_LIST = "you requested PartialObjectMetadataList, but the requested object is not a list ({})"
_NOT_ONE = "you requested PartialObjectMetadata, but the requested object is a list ({})"
SCALE = "io.k8s.api.autoscaling.v1.Scale"
"""The name of a Scale's schema."""
JSON = "application/json"
MEDIA = (JSON, "application/vnd.kubernetes.protobuf", "application/yaml")
_STREAMED = (
    *MEDIA, "application/json;stream=watch", "application/vnd.kubernetes.protobuf;stream=watch",
)  # fmt: skip


def type_is_no_list(go_type: str) -> StatusError:
    """Return the error for a request of one object of a Go type as a list of metadata."""
    return status.not_acceptable(_NO_LIST.format(go_type))


def _package(group: str) -> str:
    """Return the package of a group's internal types. Events have the same types in both groups."""
    return "core" if group in ("", "events.k8s.io") else group.partition(".")[0]


_OF_THE_SERVER = ("creationTimestamp", "deletionTimestamp")
"""Metadata that an update takes from the stored object."""


class Wording:
    """The wording of custom resources. A `dialect` gives the texts of an older minor."""

    def __init__(self, dialect: Dialect | None = None) -> None:
        self._dialect = dialect

    @cached_property
    def streams_lists(self) -> bool:
        """Whether a watch can start with the current objects (the feature gate WatchList)."""
        return self._dialect is None or gates.is_on("WatchList", self._dialect.minor)

    unknown_is_plain: ClassVar[bool] = True
    """Whether the 404 of an unknown path is plain text, as by the outer mux, and not a Status."""
    body_names_kind: ClassVar[bool] = True
    """Whether a body must have apiVersion and kind."""
    reads_dry_run_true: ClassVar[bool] = False
    """Whether `dryRun=true` is read as All."""
    default_namespace: ClassVar[str] = ""
    """The namespace for a path without one; "": such a path means all namespaces."""
    validation_endpoints: ClassVar[frozenset[str]] = frozenset()
    """Names for which a POST returns 404: clients use them as endpoints that do not exist."""
    names_match: ClassVar[bool] = False
    """Whether a POST to a name refuses a body with another name."""
    patches: ClassVar[Sequence[str]] = ("json", "merge", "apply")
    warns_without_route: ClassVar[bool] = True
    """Whether a refusal before any handler keeps the warning about a deprecated version."""
    any_application: ClassVar[bool] = True
    """Whether `Accept: application/*` selects JSON."""
    has_messages: ClassVar[bool] = False
    """Whether objects have a protobuf form."""
    is_routed: ClassVar[bool] = False
    """Whether a router checks paths and Accept headers before the kind's handlers."""
    writes_empty_continue: ClassVar[bool] = True
    """Whether the metadata of the last page of a list has `continue: ""`."""
    items_have_type: ClassVar[bool] = True
    """Whether items of a list have apiVersion and kind."""
    columns_have_name: ClassVar[bool] = False
    """Whether a kind's columns include the name, so that tables add no column."""
    scale_needs_replicas: ClassVar[bool] = True
    """Whether the Scale of an object without replicas does not exist."""
    applies_scales: ClassVar[bool] = False
    """Whether a Scale can be applied."""
    sorts_groups: ClassVar[bool] = True
    """Whether discovery sorts groups by name; otherwise they are in the order of installation."""
    group_order: ClassVar[int] = 2
    """The place of groups in discovery: built-in ones, then those declared in Python, then those of
    CRDs by name."""
    sorts_versions: ClassVar[bool] = True
    """Whether the most stable version of a group is preferred; otherwise the first declared one."""
    discovery_repeats_group: ClassVar[bool] = True
    """Whether aggregated discovery repeats group and version for each kind."""

    keys_have_group: ClassVar[bool] = True
    """Whether the keys of stored objects contain the group."""
    documents_groups: ClassVar[bool] = False
    """Whether OpenAPI documents describe the paths of groups and of their versions."""
    documents_watches: ClassVar[bool] = False
    """Whether OpenAPI documents have separate paths for watches and describe lists as watches."""
    has_types: ClassVar[bool] = False
    """Whether the schemas of the kinds are part of the built-in types."""
    media: ClassVar[Sequence[str]] = (JSON, "application/yaml")
    """The documented media types of objects."""
    patch_media: ClassVar[Sequence[str]] = (
        "application/apply-patch+yaml",
        "application/json-patch+json",
        "application/merge-patch+json",
    )

    def allows(self, method: str, verb: str, name: str, verbs: Sequence[str]) -> bool:
        """Return whether a request with this verb is routed; `verbs` are the verbs served at its
        path."""
        return True

    def watches(self, method: str, verbs: Sequence[str]) -> bool:
        """Return whether a request to watch is routed; `verbs` are the verbs served at its path."""
        return "watch" in verbs

    def method_not_allowed(self, gvr: GVR, verb: str) -> StatusError:
        """405 of a verb that the kind does not have."""
        return status.method_not_allowed_on(gvr.group, gvr.resource, verb)

    def no_subresource(self, gvr: GVR, name: str) -> StatusError:
        """404 of a subresource that the kind does not have."""
        return status.not_found(gvr.group, gvr.resource, name)

    def unknown_patch(self, media_types: Iterable[str]) -> StatusError:
        """415 of a PATCH; `media_types` are the accepted media types."""
        return status.unsupported_media_type(UNKNOWN_FORMAT + ", ".join(media_types))

    def check_type(self, served: Served, obj: Object) -> None:
        """Check the apiVersion and kind of a body before it is decoded. Raises StatusError 400.

        Does nothing for custom resources: `check_version` checks the apiVersion after decoding, and
        validation checks the kind.
        """

    def check_version(self, served: Served, obj: Object) -> None:
        """Check that a decoded body has the apiVersion of the path. Raises StatusError 400."""
        if obj.get("apiVersion") != served.api_version:
            raise _another_version(obj.get("apiVersion", ""), served)

    def check_patched_type(self, served: Served, obj: Object) -> list[str]:
        """Check that apiVersion and kind of a patched object can be read. Returns strict errors.
        Raises StatusError or DecodeError."""
        bodies.check_unstructured(obj)
        if "apiVersion" in obj and obj["apiVersion"] is None:
            raise DecodeError(
                ".apiVersion accessor error: <nil> is of the type <nil>, expected string"
            )
        return []

    def check_kept_type(self, served: Served, obj: Object, old: Object, subresource: str) -> None:
        """Check that a decoded patched object still has the type of the path. A write of the status
        loses another type later. Raises StatusError 422, or 500 without a version."""
        version, kind = obj.get("apiVersion", ""), obj.get("kind", "")
        if not version:
            raise status.internal_error(
                "Object 'apiVersion' is missing in 'object has no apiVersion field'"
            )
        if subresource == "status":
            return
        errors = [
            fielderrors.invalid(member, found, f"must be {own}")
            for member, found, own in (
                ("kind", kind, served.kind),
                ("apiVersion", version, served.api_version),
            )
            if found != own
        ]
        if errors:
            meta, before = obj["metadata"], old["metadata"]
            kept = {name: before[name] for name in _OF_THE_SERVER if name in before}
            meta = {**meta, **kept, "uid": meta.get("uid") or before["uid"]}
            namespaced, name = served.definition.namespaced, meta.get("name") or ""
            first = objectmeta.validate_before_update(meta, before, namespaced=namespaced)
            raise status.invalid(GVK.of(version, kind).group, kind, name, first + errors)

    def refusal(self, error: StatusError) -> StatusError:
        """Return the error with the texts of this wording; may change it in place."""
        return error if self._dialect is None else self._dialect.reword(error)

    def warnings(self, texts: Sequence[str]) -> Sequence[str]:
        """Return warnings as the kind's clients read them."""
        return texts if self._dialect is None else self._dialect.warnings(texts)

    def check_admitted_type(self, served: Served, obj: Object) -> None:
        """Check that an object from a webhook has the type of the path. Raises StatusError 400 or
        422."""
        self.check_version(served, obj)
        if obj.get("kind") != served.kind:
            kind, metadata = _text(obj, "kind"), obj.get("metadata")
            error = fielderrors.invalid("kind", kind, f"must be {served.kind}")
            name = _text(metadata, "name") if isinstance(metadata, dict) else ""
            raise status.invalid(served.gvk.group, kind, name, [error])

    def cells(self, gvr: GVR, obj: Object, now: datetime) -> list[Any] | None:
        """Return the cells of a table's row, None if the paths of the columns give them."""
        return None

    def row_conditions(self, gvr: GVR, obj: Object) -> list[Object]:
        """Return the conditions of a table's row."""
        return []

    def row_order(self, gvr: GVR) -> Callable[[Object], Any] | None:
        """Return the key by which the rows of a list are sorted; None for the order of the list."""
        return None

    def not_one(self, group: str, kind: str) -> StatusError:
        """406 of a list that should be shown as one object."""
        return status.not_acceptable(_NOT_ONE.format("*unstructured.UnstructuredList"))

    def not_a_list(self, group: str, kind: str) -> StatusError:
        """Return the error for a request of one object as a list of metadata."""
        return status.unknown("content is not a list")

    def schema_of(self, definition: Definition, version: str) -> str:
        """Return the name of a kind's schema: `com.example.v1.Widget` for the group example.com."""
        labels = ".".join(reversed(definition.group.split("."))) if definition.group else "core"
        return f"{labels}.{version}.{definition.names.kind}"

    def part_of(self, definition: Definition, version: str, part: Subresource) -> tuple[str, GVK]:
        """Return the schema name and the kind of a subresource's operations in OpenAPI documents.

        The schema is that of responses, "" without one. For a scale, the kind is the scaled kind,
        as in kube-apiserver.
        """
        own = definition.gvk(version)
        if part.name == "scale":
            return SCALE, own
        if part.kind in ("", definition.names.kind):
            return self.schema_of(definition, version), own
        return "", own._replace(kind=part.kind)

    def list_media(self, definition: Definition) -> Sequence[str]:
        """Return the documented media types of lists and watches."""
        return self.media

    def group_word(self, group: str) -> str:
        """Return the group as operation ids contain it."""
        return group

    def scale_selector(self, gvr: GVR, obj: Object, paths: Scale) -> str:
        """Return the selector of an object's Scale, "" without one."""
        selector = read_path(obj, paths.label_selector) if paths.label_selector else None
        return selector if isinstance(selector, str) else ""

    def negative_replicas(self, served: Served, name: str, replicas: int) -> StatusError:
        """422 of a Scale with negative replicas."""
        assert served.version.scale is not None, "asked for kinds with a scale"
        path = served.version.scale.spec_replicas
        error = fielderrors.invalid(path, replicas, "should be a non-negative integer")
        return status.invalid(served.gvk.group, served.kind, name, [error])


class _Python(Wording):
    """The wording of kinds declared in Python: bodies can omit members that the path determines."""

    body_names_kind = False
    applies_scales = True
    reads_dry_run_true = True
    default_namespace = "default"
    validation_endpoints = frozenset({"check", "test", "validate"})
    names_match = True
    sorts_groups = False
    group_order = 1
    sorts_versions = False

    def check_type(self, served: Served, obj: Object) -> None:
        obj["apiVersion"] = obj.get("apiVersion") or served.api_version
        obj["kind"] = obj.get("kind") or served.kind

    def check_patched_type(self, served: Served, obj: Object) -> list[str]:
        self.check_type(served, obj)
        self.check_admitted_type(served, obj)
        return []

    def allows(self, method: str, verb: str, name: str, verbs: Sequence[str]) -> bool:
        return verb in verbs

    def refusal(self, error: StatusError) -> StatusError:
        """Add the members of a field error to the causes, next to those of Kubernetes.

        A front end can then show the errors of a request and those of `status.fieldErrors` in the
        same way.
        """
        if error.reason == status.Reason.ALREADY_EXISTS and error.details:
            _name_the_taken(error.details)
        causes: Sequence[Object] = (error.details or {}).get("causes", ())
        room = fielderrors.LONGEST
        for cause, field_error in zip_longest(causes, error.field_errors[: len(causes)]):
            if field_error is not None:
                item = field_error.item()
                item.pop("field", None)
                room -= len(gotext.compact_json(item.get("badValue")))
                if room < 0:
                    item.pop("badValue", None)
                cause.update(item)
            if "reason" in cause:
                cause.setdefault("type", cause["reason"])
                cause.setdefault("detail", cause.get("message", ""))
        return error


class _Kubernetes(Wording):
    """The wording of kube-apiserver's own kinds."""

    unknown_is_plain = False
    body_names_kind = False
    patches = ("json", "merge", "apply", "strategic")
    warns_without_route = False
    any_application = False
    has_messages = True
    is_routed = True
    writes_empty_continue = False
    items_have_type = False
    columns_have_name = True
    scale_needs_replicas = False
    applies_scales = True
    sorts_groups = False
    group_order = 0
    discovery_repeats_group = False

    keys_have_group = False
    documents_groups = True
    documents_watches = True
    has_types = True
    media = MEDIA
    patch_media = (*Wording.patch_media, "application/strategic-merge-patch+json")

    def allows(self, method: str, verb: str, name: str, verbs: Sequence[str]) -> bool:
        """Return whether kube-apiserver has a route: it has no HEAD and no POST on a name."""
        if method == "HEAD" or verb not in verbs:
            return False
        if verb == "create":
            return not name
        return bool(name) or verb not in ("update", "patch")

    def watches(self, method: str, verbs: Sequence[str]) -> bool:
        return "watch" in verbs and method != "HEAD"

    def method_not_allowed(self, gvr: GVR, verb: str) -> StatusError:
        return status.method_not_allowed()

    def no_subresource(self, gvr: GVR, name: str) -> StatusError:
        return status.resource_not_found()

    def unknown_patch(self, media_types: Iterable[str]) -> StatusError:
        message = "415: Unsupported Media Type"
        return StatusError(415, status.Reason.UNSUPPORTED_MEDIA_TYPE, message, details={})

    def check_type(self, served: Served, obj: Object) -> None:
        """A body without kind has the kind of the path; another kind is refused with Go's text."""
        decoding.check_type(obj, served.gvk, served.definition.minor)

    def check_version(self, served: Served, obj: Object) -> None:
        """Decoding has given it the type already."""

    def check_patched_type(self, served: Served, obj: Object) -> list[str]:
        """Give the object the type that Go decodes the patched text into, a kind of the scheme."""
        return decoding.settle_patched_type(obj, served.gvk, served.definition.minor)

    def check_kept_type(self, served: Served, obj: Object, old: Object, subresource: str) -> None:
        """Decoding has given it the type already."""

    def check_admitted_type(self, served: Served, obj: Object) -> None:
        """Decoding has given it the type already."""

    def cells(self, gvr: GVR, obj: Object, now: datetime) -> list[Any] | None:
        if self._dialect is None:
            return columns.cells(gvr.group, gvr.resource, obj, now)
        return columns.cells_of_minor(gvr.group, gvr.resource, obj, now, self._dialect.minor)

    def row_conditions(self, gvr: GVR, obj: Object) -> list[Object]:
        return columns.conditions(gvr.group, gvr.resource, obj)

    def row_order(self, gvr: GVR) -> Callable[[Object], Any] | None:
        return columns.row_order(gvr.resource)

    def not_one(self, group: str, kind: str) -> StatusError:
        return status.not_acceptable(_NOT_ONE.format(f"*{_package(group)}.{kind}List"))

    def not_a_list(self, group: str, kind: str) -> StatusError:
        return type_is_no_list(f"*{_package(group)}.{kind}")

    def schema_of(self, definition: Definition, version: str) -> str:
        name = table.table(definition.minor).of(definition.gvk(version))
        return name or super().schema_of(definition, version)

    def part_of(self, definition: Definition, version: str, part: Subresource) -> tuple[str, GVK]:
        group = part.group if part.version else definition.group
        gvk = GVK(group, part.version or version, part.kind or definition.names.kind)
        return table.table(definition.minor).of(gvk) or "", gvk

    def list_media(self, definition: Definition) -> Sequence[str]:
        return _STREAMED if "watch" in definition.verbs else MEDIA

    def group_word(self, group: str) -> str:
        return group.removesuffix(".k8s.io")

    def scale_selector(self, gvr: GVR, obj: Object, paths: Scale) -> str:
        selector = (obj.get("spec") or {}).get("selector") or {}
        if gvr.resource == "replicationcontrollers":
            selector = {"matchLabels": selector}
        return format_selector(selector)

    def negative_replicas(self, served: Served, name: str, replicas: int) -> StatusError:
        detail = "must be greater than or equal to 0"
        error: FieldError = fielderrors.invalid("spec.replicas", replicas, detail)
        return status.invalid("autoscaling", "Scale", name, [error])


def _name_the_taken(details: Object) -> None:
    """Add a cause for `metadata.name` to a 409, so that forms can show the error at the name."""
    if "causes" in details:
        return
    error = name_taken(details.get("name", ""))
    details["causes"] = [{**error.cause(), **error.item()}]


def name_taken(name: str) -> FieldError:
    """Return the field error for an existing name, with the text documented for kinds with live
    checks."""
    message = f"resource with name '{name}' already exists"
    return fielderrors.duplicate("metadata.name", name, message)


EXTENSIONS, PYTHON, KUBERNETES = Wording(), _Python(), _Kubernetes()
_WORDINGS = {Origin.BUILTIN: KUBERNETES, Origin.CUSTOM: EXTENSIONS, Origin.PYTHON: PYTHON}


def of(definition: Definition) -> Wording:
    """Return the wording of the server that serves the kind."""
    if definition.minor == releases.NEWEST.minor:
        return _WORDINGS[definition.origin]
    return _older(definition.origin, definition.minor)


@caches.of_values(len(Origin) * len(releases.RECORDED))
def _older(origin: Origin, minor: int) -> Wording:
    return type(_WORDINGS[origin])(dialects.of(minor, is_builtin=origin is Origin.BUILTIN))


def read_path(obj: Object, path: str) -> Any:
    """Return the value at a dotted path with a leading dot, None without one."""
    value: Any = obj
    for part in path.lstrip(".").split("."):
        value = value.get(part) if isinstance(value, dict) else None
    return value


def _another_version(actual: str, served: Served) -> StatusError:
    return status.bad_request(
        f"the API version in the data ({canonical_api_version(actual)}) does not match the "
        "expected API version "
        f"({served.api_version})"
    )


def _text(obj: Object, member: str) -> str:
    """Return a member as unstructured's GetName and GetKind return it: "" if it is not a string."""
    text = obj.get(member)
    return text if isinstance(text, str) else ""
