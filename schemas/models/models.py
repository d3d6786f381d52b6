"""Kinds declared in Python: a pydantic model with a group, a version and a kind.

    class Probe(Resource, group="example.com", version="v1", columns=[…]):
        spec: ProbeSpec

`definition` turns such a class into a `schemas.definitions.Definition` (origin PYTHON) and `to_crd`
into a CustomResourceDefinition. `Model` maps snake_case attributes to camelCase members. Checks,
admission functions and reconcilers get typed objects from `parse`.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic.alias_generators import to_camel

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
    subresources,
)
from inkube.schemas.fielderrors import OMITTED, FieldError, Type
from inkube.schemas.meta import GVK, GVR
from inkube.schemas.models.schema import check_default, structural
from inkube.schemas.objects import Object

R = TypeVar("R", bound="Resource")
M = TypeVar("M", bound=BaseModel)


class Model(BaseModel):
    """A part of a kind: members are camelCase in JSON, attributes are snake_case in Python."""

    model_config = ConfigDict(
        alias_generator=to_camel, populate_by_name=True, extra="ignore", validate_default=False
    )

    if not TYPE_CHECKING:  # else every attribute would exist

        def __getattr__(self, name: str) -> Any:
            if name in type(self).model_fields:
                raise Unread(f"{name} could not be read")
            return super().__getattr__(name)


class Unread(AttributeError):
    """Raised for access to a member that `parse_partly` could not read."""


class OwnerReference(Model):
    """metav1.OwnerReference."""

    api_version: str
    kind: str
    name: str
    uid: str
    controller: bool = False
    block_owner_deletion: bool = False


class ObjectMeta(Model):
    """metav1.ObjectMeta: the members that checks and reconcilers read."""

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
    """One error of one field, in the current state of the outside systems."""

    type: str = Field(
        description="The type of the error, such as FieldValueInvalid, FieldValueRequired, "
        "FieldValueNotFound, FieldValueForbidden, FieldValueDuplicate or "
        "InternalError."
    )
    field: str = Field(
        default="", description="The path of the field to change, such as spec.github.branch."
    )
    detail: str = Field(default="", description="The error as a text for users.")
    origin: str = Field(default="", description="The check or rule that found the error.")
    bad_value: Any = Field(
        default=None, description="The rejected value, any JSON value. Never a secret."
    )
    supported_values: list[str] | None = Field(
        default=None, description="Valid values, which forms can offer."
    )


class Condition(Model):
    """One aspect of the state of the object."""

    type: str = Field(description="The aspect, such as Ready.")
    status: str = Field(description="True, False or Unknown.")
    reason: str = Field(description="The reason of the status, one word for programs.")
    message: str = Field(default="", description="The reason of the status, a text for users.")
    last_transition_time: str = Field(
        default="", description="The time of the last change of the status."
    )
    observed_generation: int = Field(
        default=0, description="The metadata.generation to which the condition applies."
    )


class Health(Model):
    """The result of the last checks."""

    healthy: bool = Field(description="Whether the checks found no errors.")
    checked: int = Field(
        default=0, description="The time of the last change of the health, in ms since the epoch."
    )
    message: list[str] = Field(
        default_factory=list, description="The errors of an unhealthy object, one line each."
    )
    error: str = Field(default="", description="The type of the problem of an unhealthy object.")


class Status(Model):
    """The status that live checks write. A kind can add members in a subclass."""

    observed_generation: int | None = Field(
        default=None,
        description="The metadata.generation to which this status applies. A smaller number"
        " means that the controller has not checked the newest spec yet. "
        "Missing before the first check.",
    )
    field_errors: list[FieldErrorItem] | None = Field(
        default=None,
        description="The errors of the object, in the current state of the outside systems."
        " Empty if there are none.",
    )
    conditions: list[Condition] | None = Field(
        default=None, description="The state of the object, one condition for each aspect."
    )
    health: Health | None = Field(default=None, description="The combined result of the checks.")


class Resource(Model):
    """The base of every kind declared in Python. Class arguments define its names and features.

    `group`, `version`; `kind` (default: the class's name), `plural` (default: the kind in lower
    case with an s), `short_names`, `categories`, `namespaced` (default True), `columns`,
    `selectable_fields` (`spec.color`, or a `SelectableField`), `scale`. `only_equality` refuses
    `!=` in field selectors.

    `also_served`: further versions with the same schema; objects are stored in `version` and
    returned in the version that a request names. `zero_status`: the status of an object that no
    controller has processed, like the zero values of a Go struct. Its members are defaults of the
    schema, also for a write to /status that omits one; a null exists only initially.

    `unknown_field`: the error for a field selector outside `selectable_fields`, with `{label}` for
    the field. `status_subresource`: whether status is written separately (default) or with the
    object. `verbs`: the verbs of clients; controllers can use all verbs. `instead`: the alternative
    that the error for another verb suggests.
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
            raise TypeError(f"{cls.__name__} needs a version in addition to its group {group!r}")
        cls.definition = _definition(cls, group, version, **kwargs)
        cls.gvk = cls.definition.gvk(version)
        cls.gvr = cls.definition.gvr(version)


class Unreadable(ValueError):
    """An object that does not fit its model; `errors` lists the field errors."""

    def __init__(self, errors: Sequence[FieldError]) -> None:
        super().__init__("; ".join(error.text() for error in errors))
        self.errors = list(errors)


def parse(model: type[R], obj: Object) -> R:
    """Return the typed form of a plain object. Raises Unreadable."""
    try:
        return model.model_validate(obj)
    except ValidationError as error:
        raise Unreadable(_field_errors(error)) from error


def parse_partly(model: type[R], obj: Object) -> tuple[R, list[FieldError]]:
    """Return the typed object with its readable members, and the errors of the other members.

    Access to a member with an error, or to a required member that is missing, raises Unread.
    """
    try:
        return model.model_validate(obj), []
    except ValidationError as error:
        return _read(model, obj), _field_errors(error)


def parse_except(model: type[R], obj: Object, wrong: Iterable[str]) -> R:
    """Return the typed object with its readable members, without members that have an error in
    `wrong`.

    `wrong` has the paths of fields with errors. Access to such a member raises Unread. A readable
    list or map stays whole, although some of its items have errors.
    """
    typed, _ = parse_partly(model, obj)
    for path in wrong:
        _hide(typed, path)
    return typed


def _hide(typed: BaseModel, path: str) -> None:
    """Remove the member at the path, or all members of its parent if the model does not have it."""
    name, _, rest = path.partition(".")
    name, _, item = name.partition("[")
    model_fields = type(typed).model_fields.items()
    attribute = next((each for each, info in model_fields if name == (info.alias or each)), None)
    if attribute is None:
        typed.__dict__.clear()
        return
    member = typed.__dict__.get(attribute)
    if item and isinstance(member, list | dict):
        return
    if rest and isinstance(member, BaseModel):
        _hide(member, rest)
    else:
        typed.__dict__.pop(attribute, None)


def _read(model: type[M], members: Object) -> M:
    typed = model.model_construct()
    for attribute, info in model.model_fields.items():
        name = info.alias or attribute
        if name not in members:
            continue
        value, inner = members[name], _model_in(info.annotation)
        try:
            typed.__pydantic_validator__.validate_assignment(typed, attribute, value)
        except ValidationError:
            typed.__dict__.pop(attribute, None)
            if inner is not None and isinstance(value, dict):
                typed.__dict__[attribute] = _read(inner, value)
                typed.__pydantic_fields_set__.add(attribute)
    return typed


def _model_in(annotation: Any) -> type[BaseModel] | None:
    """Return the model of a member with the type of a model or a union with one; None for other
    types."""
    for member_type in (annotation, *get_args(annotation)):
        if isinstance(member_type, type) and issubclass(member_type, BaseModel):
            return member_type
    return None


def dump(part: BaseModel) -> Object:
    """Return the plain form of a model, with the members that were passed or set."""
    return part.model_dump(mode="json", by_alias=True, exclude_unset=True)


def to_crd(definition: Definition) -> Object:
    """Return the CustomResourceDefinition that declares the same kind in any cluster."""
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
    crd_version: Object = {
        "name": version.name,
        "served": version.served,
        "storage": version.storage,
    }
    crd_version["schema"] = {"openAPIV3Schema": version.schema}
    subresources: Object = {"status": {}} if version.status else {}
    if version.scale:
        subresources["scale"] = _crd_scale(version.scale)
    if subresources:
        crd_version["subresources"] = subresources
    if version.columns:
        columns = [
            _crd_column(column)
            for column in version.columns
            if not column.counts and not column.shows_presence
        ]
        crd_version["additionalPrinterColumns"] = columns
    own = [
        field for field in version.selectable_fields if not field.of_metadata and not field.is_map
    ]
    if own:
        crd_version["selectableFields"] = [{"jsonPath": f".{field.path}"} for field in own]
    return crd_version


def _crd_scale(scale: Scale) -> Object:
    crd_scale = {
        "specReplicasPath": scale.spec_replicas,
        "statusReplicasPath": scale.status_replicas,
    }
    if scale.label_selector:
        crd_scale["labelSelectorPath"] = scale.label_selector
    return crd_scale


def _crd_column(column: Column) -> Object:
    crd_column: Object = {"name": column.name, "type": column.type, "jsonPath": column.json_path}
    for member in ("format", "description", "priority"):
        if getattr(column, member):
            crd_column[member] = getattr(column, member)
    return crd_column


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
    schema = structural(model)
    if zero_status is not None:
        _default_status(model.__name__, schema["properties"]["status"], zero_status)
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
        defers_ownership=True,
        verbs=tuple(verbs),
        instead=instead,
        versions=tuple(
            Version(
                name=name,
                storage=name == version,
                schema=schema,
                status=status_subresource,
                scale=scale,
                subresources=subresources(status=status_subresource, scale=scale),
                columns=tuple(columns),
                selectable_fields=selectable(selectable_fields, namespaced=namespaced),
                unknown_field=unknown_field,
                only_equality=only_equality,
            )
            for name in (version, *also_served)
        ),
    )


def with_empty_errors(definition: Definition) -> Definition:
    """Return the same kind with the default status `fieldErrors: []`, unless the kind has a zero
    status.

    Clients can then read the list before a controller has processed the object. Raises ValueError
    if the status has a required member, because the controller of checks does not write it.
    """
    kind = definition.names.kind
    versions = tuple(_with_empty_errors(kind, version) for version in definition.versions)
    return replace(definition, versions=versions)


def _with_empty_errors(kind: str, version: Version) -> Version:
    properties = version.schema["properties"]
    if not version.status or "default" in properties["status"]:
        return version
    default: Object = {"fieldErrors": []}
    check_default(f"{kind}.status", properties["status"], default)
    observed = {**properties["status"], "default": default}
    schema = {**version.schema, "properties": {**properties, "status": observed}}
    return replace(version, schema=schema)


def _default_status(kind: str, schema: Object, zero: Mapping[str, Any]) -> None:
    """Set `zero` as the default of a status, and its values as defaults of single members."""
    check_default(f"{kind}.status", schema, _present(zero))
    schema["default"] = dict(zero)
    for name, value in zero.items():
        member = schema["properties"][name]
        if value is None:
            member["nullable"] = True
        else:
            member["default"] = value


def _present(members: Mapping[str, Any]) -> Object:
    return {name: value for name, value in members.items() if value is not None}


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
