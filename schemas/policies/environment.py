"""The variables and types of a policy's expressions.

Follows apiserver pkg/admission/plugin/cel/compile.go.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from inkube.schemas.cel import (
    AUTHORIZER,
    FORMATS,
    FUNCTIONS,
    RESOURCE_CHECK,
    Environment,
    Field,
    Fields,
    Kind,
    Overload,
    Shape,
    Type,
    functions,
    types,
)

_STRING: Final = Shape.of(types.STRING)
_STRINGS: Final = Shape.of(types.LIST_STRING)
_TEXTS: Final = Shape.of(types.map_of(types.STRING, types.STRING))
_DYN: Final = Shape.of(types.DYN)
_CONTAINERS: Final = (Kind.LIST, Kind.MAP)
_SCALARS: Final = (
    types.BOOL, types.BYTES, types.DOUBLE, types.DURATION, types.INT, types.NULL, types.STRING,
    types.TIMESTAMP, types.UINT,
)  # fmt: skip


def record(name: str, members: Mapping[str, Shape]) -> Shape:
    """Return the shape of an object type with this name."""
    fields = Fields({member: Field(member, shape) for member, shape in members.items()})
    return Shape(types.object_of(name, fields))


def _moment() -> Shape:
    date_time = FORMATS["date-time"]
    return Shape(date_time.type, convert=date_time.convert)


def _user() -> Shape:
    extra = Shape.of(types.map_of(types.STRING, types.LIST_STRING))
    members = {"username": _STRING, "uid": _STRING, "groups": _STRINGS, "extra": extra}
    return record("kubernetes.UserInfo", members)


USER: Final = _user()


def _access_review() -> Shape:
    """Return the `spec` of a SubjectAccessReview (pkg/authorization/cel/compile.go)."""
    requirement = {"key": _STRING, "operator": _STRING, "values": _STRINGS}
    listed = record("kubernetes.SelectorRequirement", requirement)
    members = {"rawSelector": _STRING, "requirements": Shape.of(types.list_of(listed.type))}
    resource = {
        **dict.fromkeys(
            ("namespace", "verb", "group", "version", "resource", "subresource", "name"), _STRING
        ),
        "fieldSelector": record("kubernetes.FieldSelectorAttributes", members),
        "labelSelector": record("kubernetes.LabelSelectorAttributes", members),
    }
    path = {"path": _STRING, "verb": _STRING}
    return record(
        "kubernetes.SubjectAccessReviewSpec",
        {
            "resourceAttributes": record("kubernetes.ResourceAttributes", resource),
            "nonResourceAttributes": record("kubernetes.NonResourceAttributes", path),
            "user": _STRING,
            "groups": _STRINGS,
            "extra": Shape.of(types.map_of(types.STRING, types.LIST_STRING)),
            "uid": _STRING,
        },
    )


ACCESS_REVIEW: Final = _access_review()


def _request() -> Shape:
    kind = record(
        "kubernetes.GroupVersionKind", dict.fromkeys(("group", "version", "kind"), _STRING)
    )
    resource = record(
        "kubernetes.GroupVersionResource", dict.fromkeys(("group", "version", "resource"), _STRING)
    )
    texts = ("subResource", "requestSubResource", "name", "namespace", "operation")
    return record(
        "kubernetes.AdmissionRequest",
        {
            "kind": kind,
            "resource": resource,
            "requestKind": kind,
            "requestResource": resource,
            **dict.fromkeys(texts, _STRING),
            "userInfo": USER,
            "dryRun": Shape.of(types.BOOL),
            "options": _DYN,
        },
    )


def _namespace() -> Shape:
    metadata = {
        **dict.fromkeys(("name", "generateName", "namespace", "UID", "resourceVersion"), _STRING),
        "labels": _TEXTS,
        "annotations": _TEXTS,
        "creationTimestamp": _moment(),
        "deletionTimestamp": _moment(),
        "deletionGracePeriodSeconds": Shape.of(types.INT),
        "generation": Shape.of(types.INT),
        "finalizers": _STRINGS,
    }
    made = record(
        "kubernetes.Namespace",
        {
            "metadata": record("kubernetes.NamespaceMetadata", metadata),
            "spec": record("kubernetes.NamespaceSpec", {"finalizers": _STRINGS}),
            "status": record("kubernetes.NamespaceStatus", {"phase": _STRING}),
        },
    )
    return Shape(replace(made.type, nullable=True))


def _escape_key(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")


_ESCAPE_KEY: Final = Overload(
    "jsonpatch.escapeKey", "string_jsonpatch_escapeKey_string", (types.STRING,), types.STRING,
    _escape_key, fails=False,
)  # fmt: skip
JSON_PATCH: Final = record(
    "JSONPatch", {**dict.fromkeys(("op", "path", "from"), _STRING), "value": _DYN}
)
REQUEST: Final = _request()
NAMESPACE: Final = _namespace()


class Scope:
    """The variables of one policy's expressions. `declare` adds a variable `variables.NAME`.

    `target` and `params` are the shapes of the object and the parameter, if type checking knows
    them. `params` is None if the policy has no parameters. With `mutates`, expressions can create
    `Object{…}` and `JSONPatch{…}`. Without `has_variables`, `variables` is no name.
    """

    def __init__(
        self,
        *,
        target: Shape = _DYN,
        params: Shape | None = None,
        mutates: bool = False,
        has_variables: bool = True,
    ) -> None:
        self._mutates = mutates
        self._has_variables = has_variables
        self._base = {"object": target, "oldObject": target}
        if params is not None:
            self._base["params"] = params
        self._base |= {"request": REQUEST, "namespaceObject": NAMESPACE}
        self._variables: dict[str, Field] = {}  # shared: later variables are declared in it
        self._record = Shape(types.object_of("kubernetes.variables", Fields(self._variables)))

    def declare(self, name: str, type: Type, runtime_type: Type | None = None) -> None:
        """Declare a variable of this type for later expressions; they run with the runtime type."""
        self._variables[name] = Field(
            name, Shape.of(_variable_type(type)), runtime_type=runtime_type
        )

    def environment(self, *, authorizer: bool = True, variables: bool = True) -> Environment:
        """Return the environment of an expression: without authorizer for messages, and without
        variables for conditions."""
        names = dict(self._base)
        if authorizer:
            names["authorizer"] = Shape.of(AUTHORIZER)
            names["authorizer.requestResource"] = Shape.of(RESOURCE_CHECK)
        if variables and self._has_variables:
            names["variables"] = self._record
        environment = Environment(FUNCTIONS, names)
        if not self._mutates:
            return environment
        return replace(
            environment,
            functions={**FUNCTIONS, **functions((_ESCAPE_KEY,))},
            constructed={"Object": None, "JSONPatch": JSON_PATCH},
        )


def any_params() -> Shape:
    """Return the shape of a parameter of an unknown type."""
    return _DYN


def _variable_type(type: Type) -> Type:
    """Return the type of a variable for other expressions: dyn for objects and opaque values."""
    if type in _SCALARS:
        return type
    if type.kind in _CONTAINERS:
        return Type(type.kind, type.name, tuple(_variable_type(part) for part in type.params))
    return types.DYN
