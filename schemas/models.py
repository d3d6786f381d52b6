"""Kinds declared in Python: a pydantic model with a group, a version and a kind.

    class Probe(Resource, group="example.com", version="v1", columns=[…]):
        spec: ProbeSpec

`definition` turns such a class into a `schemas.definitions.Definition` (origin PYTHON) and `to_crd`
into a CustomResourceDefinition. `Model` maps snake_case attributes to camelCase members. Checks,
admission functions and reconcilers get typed objects from `parse`.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic.alias_generators import to_camel

from inkube.schemas import modelschema
from inkube.schemas.definitions import (
    CUSTOM_VERBS,
    UNKNOWN_FIELD,
    Column,
    Definition,
    Names,
    Origin,
    Scale,
    SelectableField,
    Version,
    selectable,
)
from inkube.schemas.fielderrors import OMITTED, FieldError, Type
from inkube.schemas.meta import GVK, GVR
from inkube.schemas.objects import Object

R = TypeVar("R", bound="Resource")


class Model(BaseModel):
    """A part of a kind: members are camelCase outside, attributes snake_case inside."""

    model_config = ConfigDict(
        alias_generator=to_camel, populate_by_name=True, extra="ignore", validate_default=False
    )


class OwnerReference(Model):
    """metav1.OwnerReference."""

    api_version: str
    kind: str
    name: str
    uid: str
    controller: bool = False
    block_owner_deletion: bool = False


class ObjectMeta(Model):
    """metav1.ObjectMeta, as far as checks and reconcilers read it."""

    name: str = ""
    generate_name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    creation_timestamp: str = ""
    deletion_timestamp: str = ""
    labels: dict[str, str] = Field(default_factory=dict)
    annotations: dict[str, str] = Field(default_factory=dict)
    finalizers: list[str] = Field(default_factory=list)
    owner_references: list[OwnerReference] = Field(default_factory=list)


class FieldErrorItem(Model):
    """One entry of `status.fieldErrors`; `bad_value` is what was refused, any JSON value."""

    type: str
    field: str = ""
    detail: str = ""
    origin: str = ""
    bad_value: Any = None


class Condition(Model):
    """metav1.Condition."""

    type: str
    status: str
    reason: str
    message: str = ""
    last_transition_time: str = ""
    observed_generation: int = 0


class Health(Model):
    """What the last checks found; `checked` is milliseconds since the epoch."""

    healthy: bool
    checked: int = 0
    message: list[str] = Field(default_factory=list)
    error: str = Field("", description="What went wrong, while unhealthy.")


class Status(Model):
    """What the framework of live checks writes; a kind may add members in a subclass."""

    observed_generation: int | None = None
    field_errors: list[FieldErrorItem] | None = None
    conditions: list[Condition] | None = None
    health: Health | None = None


class Resource(Model):
    """The base of every kind declared in Python. Class arguments say what it is called.

    `group`, `version`; `kind` (default: the class's name), `plural` (default: the kind in lower
    case with an s), `short_names`, `categories`, `namespaced` (default True), `columns`,
    `selectable_fields` (`spec.color`, or a `SelectableField`), `scale`. `only_equality` refuses
    `!=` in field selectors.

    `also_served`: further versions with the same schema; objects are stored in `version` and
    stamped with the one a request names. `zero_status`: what `status` shows until a controller has
    looked, as a Go struct shows its zero values. Its members are defaults of the schema, so that a
    write to /status which leaves one out has it too; a null stands at the beginning only.

    `unknown_field`: what a field selector by another field than `selectable_fields` is told, with
    `{label}` for the field. `status_subresource`: whether status is written apart (default) or with
    the object. `verbs`: what clients may do; controllers may do everything. `instead`:
    what the refusal of another write proposes.
    """

    api_version: str = ""
    kind: str = ""
    metadata: ObjectMeta = Field(default_factory=ObjectMeta)
    status: Status = Field(default_factory=Status)

    definition: ClassVar[Definition]
    gvk: ClassVar[GVK]
    gvr: ClassVar[GVR]

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Take the class arguments away from pydantic, which reads them in its own hook."""
        super().__init_subclass__()

    @classmethod
    def __pydantic_init_subclass__(
        cls, *, group: str = "", version: str = "", **kwargs: Any
    ) -> None:
        """Make the definition once the fields are known. A class without a group is abstract."""
        super().__pydantic_init_subclass__()
        if not group:
            return
        if not version:
            raise TypeError(f"{cls.__name__} needs a version beside its group {group!r}")
        cls.definition = _definition(cls, group, version, **kwargs)
        cls.gvk = cls.definition.gvk(version)
        cls.gvr = cls.definition.gvr(version)


class Unreadable(ValueError):
    """An object that does not fit its model; `errors` says where."""

    def __init__(self, errors: Sequence[FieldError]) -> None:
        super().__init__("; ".join(error.text() for error in errors))
        self.errors = list(errors)


def parse(model: type[R], obj: Object) -> R:
    """The typed form of a plain object. Raises Unreadable."""
    try:
        return model.model_validate(obj)
    except ValidationError as error:
        raise Unreadable(_field_errors(error)) from error


def dump(part: BaseModel) -> Object:
    """The plain form of a model, with the members that were given or set."""
    return part.model_dump(mode="json", by_alias=True, exclude_unset=True)


def to_crd(definition: Definition) -> Object:
    """The CustomResourceDefinition that declares the same kind in any cluster."""
    names = definition.names
    listed: Object = {"plural": names.plural, "singular": names.singular, "kind": names.kind}
    listed["listKind"] = names.list_kind
    if names.short_names:
        listed["shortNames"] = list(names.short_names)
    if names.categories:
        listed["categories"] = list(names.categories)
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{names.plural}.{definition.group}"},
        "spec": {
            "group": definition.group,
            "names": listed,
            "scope": "Namespaced" if definition.namespaced else "Cluster",
            "versions": [_crd_version(version) for version in definition.versions],
        },
    }


def _crd_version(version: Version) -> Object:
    found: Object = {"name": version.name, "served": version.served, "storage": version.storage}
    found["schema"] = {"openAPIV3Schema": version.schema}
    subresources: Object = {"status": {}} if version.status else {}
    if version.scale:
        subresources["scale"] = _crd_scale(version.scale)
    if subresources:
        found["subresources"] = subresources
    if version.columns:
        shown = [
            _crd_column(column)
            for column in version.columns
            if not column.counts and not column.tells_presence
        ]
        found["additionalPrinterColumns"] = shown
    own = [
        field for field in version.selectable_fields if not field.of_metadata and not field.is_map
    ]
    if own:
        found["selectableFields"] = [{"jsonPath": f".{field.path}"} for field in own]
    return found


def _crd_scale(scale: Scale) -> Object:
    found = {
        "specReplicasPath": scale.spec_replicas,
        "statusReplicasPath": scale.status_replicas,
    }
    if scale.label_selector:
        found["labelSelectorPath"] = scale.label_selector
    return found


def _crd_column(column: Column) -> Object:
    found: Object = {"name": column.name, "type": column.type, "jsonPath": column.json_path}
    for member in ("format", "description", "priority"):
        if getattr(column, member):
            found[member] = getattr(column, member)
    return found


def _definition(
    model: type[Resource],
    group: str,
    version: str,
    *,
    kind: str = "",
    plural: str = "",
    short_names: Iterable[str] = (),
    categories: Iterable[str] = (),
    namespaced: bool = True,
    columns: Iterable[Column] = (),
    selectable_fields: Iterable[str | SelectableField] = (),
    unknown_field: str = UNKNOWN_FIELD,
    only_equality: bool = False,
    singular: str = "",
    scale: Scale | None = None,
    also_served: Iterable[str] = (),
    zero_status: Mapping[str, Any] | None = None,
    status_subresource: bool = True,
    verbs: Iterable[str] = CUSTOM_VERBS,
    instead: str = "",
) -> Definition:
    kind = kind or model.__name__
    schema = modelschema.structural(model)
    if zero_status is not None:
        _default_status(schema["properties"]["status"], zero_status)
    names = Names(
        plural=plural or f"{kind.lower()}s",
        kind=kind,
        singular=singular or kind.lower(),
        list_kind=f"{kind}List",
        short_names=tuple(short_names),
        categories=tuple(categories),
    )
    return Definition(
        group=group,
        names=names,
        namespaced=namespaced,
        origin=Origin.PYTHON,
        late_ownership=True,
        verbs=tuple(verbs),
        instead=instead,
        versions=tuple(
            Version(
                name=name,
                storage=name == version,
                schema=schema,
                status=status_subresource,
                scale=scale,
                columns=tuple(columns),
                selectable_fields=selectable(selectable_fields, namespaced=namespaced),
                unknown_field=unknown_field,
                only_equality=only_equality,
            )
            for name in (version, *also_served)
        ),
    )


def _default_status(schema: Object, zero: Mapping[str, Any]) -> None:
    """Make `zero` the default of a status, and of its members where somebody left one out."""
    schema["default"] = dict(zero)
    for name, value in zero.items():
        member = schema["properties"][name]
        if value is None:
            member["nullable"] = True
        else:
            member["default"] = value


def _field_errors(error: ValidationError) -> list[FieldError]:
    return [_field_error(item) for item in error.errors(include_url=False)]


def _field_error(item: Any) -> FieldError:
    path = _path(item["loc"])
    if item["type"] == "missing":
        return FieldError(Type.REQUIRED, path)
    text = str(item["msg"])
    return FieldError(Type.INVALID, path, OMITTED, text[:1].lower() + text[1:])


def _path(location: Iterable[str | int]) -> str:
    path = ""
    for part in location:
        if isinstance(part, int):
            path += f"[{part}]"
        elif re.fullmatch(r"[\w-]+", part):
            path += f".{part}" if path else part
    return path
