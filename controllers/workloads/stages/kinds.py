"""The kinds of `kwok.x-k8s.io/v1alpha1` that a server with workloads serves, and `Script`s.

The schemas are data and follow KWOK's pkg/apis/v1alpha1. A write of a Stage that cannot be played
is refused.
"""

from collections.abc import Callable, Iterable

from inkube.client import Object
from inkube.controllers.workloads.stages import expressions, functions, stage
from inkube.formats import fielderrors, gotime, quantity, regexp
from inkube.kinds import Column, Definition, FieldError, Names, Origin, SchemaKind, Version

Check = Callable[[Object], list[FieldError]]
KWOK = "kwok.x-k8s.io"
INKUBE_GROUP = "workloads.inkube.dev"

_STRING: Object = {"type": "string"}
_INTEGER: Object = {"type": "integer", "format": "int64"}
_BOOLEAN: Object = {"type": "boolean"}


def _object(required: Iterable[str] = (), **members: Object) -> Object:
    found: Object = {"type": "object", "properties": members}
    if required:
        found["required"] = list(required)
    return found


def _list(items: Object) -> Object:
    return {"type": "array", "items": items}


def _map(values: Object) -> Object:
    return {"type": "object", "additionalProperties": values}


_EXPRESSION = _object(
    expressionFrom=_STRING, jq=_object(expression=_STRING), cel=_object(expression=_STRING)
)
_IMPERSONATION = _object(username=_STRING)
_TERM = {"key": _STRING, "operator": _STRING, "values": _list(_STRING)}
_PATCH = _object(
    subresource=_STRING, root=_STRING, template=_STRING, type=_STRING, impersonation=_IMPERSONATION
)
_EVENT = _object(type=_STRING, reason=_STRING, message=_STRING)
_FINALIZER = _object(["value"], value=_STRING)
_FINALIZERS = _object(add=_list(_FINALIZER), remove=_list(_FINALIZER), empty=_BOOLEAN)
_STAGE = _object(
    ["resourceRef"],
    resourceRef=_object(["kind"], apiGroup={"type": "string", "default": "v1"}, kind=_STRING),
    selector=_object(
        matchLabels=_map(_STRING),
        matchAnnotations=_map(_STRING),
        matchExpressions=_list(
            _object(**_TERM, jq=_object(**_TERM), cel=_object(expression=_STRING))
        ),
    ),
    weight={"type": "integer", "minimum": 0},
    weightFrom=_EXPRESSION,
    delay=_object(
        durationMilliseconds=_INTEGER,
        durationFrom=_EXPRESSION,
        jitterDurationMilliseconds=_INTEGER,
        jitterDurationFrom=_EXPRESSION,
    ),
    next=_object(
        event=_EVENT,
        finalizers=_FINALIZERS,
        delete=_BOOLEAN,
        patches=_list(_PATCH),
        statusTemplate=_STRING,
        statusSubresource=_STRING,
        statusPatchAs=_IMPERSONATION,
    ),
    steps=_list(
        _object(
            event=_EVENT,
            finalizers=_FINALIZERS,
            delete=_BOOLEAN,
            patch=_PATCH,
            apply=_object(template=_STRING, subresource=_STRING, type=_STRING),
        )
    ),
    immediateNextStage=_BOOLEAN,
)
_CONTAINERS = _list(_STRING)
_LOGS = _object(
    logs=_list(
        _object(containers=_CONTAINERS, logsFile=_STRING, previousLogsFile=_STRING, follow=_BOOLEAN)
    )
)
_LOCAL = _object(
    workDir=_STRING,
    envs=_list(_object(["name"], name=_STRING, value=_STRING)),
    securityContext=_object(runAsUser=_INTEGER, runAsGroup=_INTEGER),
)
_EXEC = _object(execs=_list(_object(containers=_CONTAINERS, local=_LOCAL)))
_ATTACH = _object(attaches=_list(_object(containers=_CONTAINERS, logsFile=_STRING)))
_FORWARD = _object(
    forwards=_list(
        _object(
            ports=_list({"type": "integer", "minimum": 1, "maximum": 65535}),
            target=_object(["port"], address=_STRING, port=_INTEGER),
            command=_list(_STRING),
        )
    )
)
_AMOUNT = _object(
    value={"x-kubernetes-int-or-string": True, "anyOf": [{"type": "integer"}, {"type": "string"}]},
    expression=_STRING,
)
_USAGE = _object(
    usages=_list(_object(containers=_CONTAINERS, usage=_object(cpu=_AMOUNT, memory=_AMOUNT)))
)
_SELECTOR = _object(matchNamespaces=_list(_STRING), matchNames=_list(_STRING))
_OF_SCRIPT = {
    "matchNames": _list(_STRING), "matchLabels": _map(_STRING), "matchImages": _list(_STRING),
}  # fmt: skip
_SCRIPT = _object(
    selector=_object(**_OF_SCRIPT),
    containers=_CONTAINERS,
    logs=_list(_object(["text"], after=_STRING, stream=_STRING, text=_STRING, previous=_BOOLEAN)),
    exec=_list(
        _object(
            command=_list(_STRING),
            pattern=_STRING,
            stdin=_STRING,
            stdout=_STRING,
            stderr=_STRING,
            exitCode={"type": "integer", "minimum": 0, "maximum": 255},
            delay=_STRING,
        )
    ),
    files=_map(_STRING),
    forwards=_list(_object(["port"], port=_INTEGER, body=_STRING)),
)


_CLUSTER_SCRIPT = {
    **_SCRIPT,
    "properties": {
        **_SCRIPT["properties"],
        "selector": _object(matchNamespaces=_list(_STRING), **_OF_SCRIPT),
    },
}


def check_usage(obj: Object) -> list[FieldError]:
    """Return errors for amounts that cannot be parsed."""
    errors = []
    for number, group in enumerate((obj.get("spec") or {}).get("usages") or ()):
        for resource, amount in (group.get("usage") or {}).items():
            place = f"spec.usages[{number}].usage.{resource}"
            value, expression = amount.get("value"), amount.get("expression")
            if value is not None and not quantity.is_valid(str(value)):
                errors.append(fielderrors.invalid(f"{place}.value", value, "is no quantity"))
            if expression:
                try:
                    expressions.of_usage(expression)
                except expressions.ExpressionError as error:
                    errors.append(
                        fielderrors.invalid(f"{place}.expression", expression, str(error))
                    )
    return errors


def check_script(obj: Object) -> list[FieldError]:
    """Return errors for patterns and durations that cannot be parsed."""
    errors = []
    spec = obj.get("spec") or {}
    for member, time in (("exec", "delay"), ("logs", "after")):
        for number, entry in enumerate(spec.get(member) or ()):
            place = f"spec.{member}[{number}]"
            if entry.get("pattern") is not None:
                try:
                    regexp.compile(entry["pattern"])
                except regexp.RegexError as error:
                    errors.append(
                        fielderrors.invalid(f"{place}.pattern", entry["pattern"], str(error))
                    )
            if entry.get(time):
                try:
                    gotime.parse_duration(entry[time])
                except ValueError as error:
                    errors.append(fielderrors.invalid(f"{place}.{time}", entry[time], str(error)))
    return errors


def _check_nothing(obj: Object) -> list[FieldError]:
    return []


def schema_kinds() -> list[SchemaKind]:
    """Return all kinds, with their rules."""
    checking = functions.checking()

    def check_stage(obj: Object) -> list[FieldError]:
        return stage.check(obj, checking)

    found = [
        _kind(
            KWOK,
            "Stage",
            _STAGE,
            namespaced=False,
            check=check_stage,
            columns=(
                Column("Kind", "string", ".spec.resourceRef.kind"),
                Column("Weight", "integer", ".spec.weight"),
                Column("Delay", "integer", ".spec.delay.durationMilliseconds"),
            ),
        ),
        _kind(INKUBE_GROUP, "Script", _SCRIPT, version="v1", check=check_script),
        _kind(
            INKUBE_GROUP,
            "ClusterScript",
            _CLUSTER_SCRIPT,
            version="v1",
            namespaced=False,
            check=check_script,
        ),
    ]
    for kind, spec in (
        ("Logs", _LOGS),
        ("Exec", _EXEC),
        ("Attach", _ATTACH),
        ("PortForward", _FORWARD),
        ("ResourceUsage", _USAGE),
    ):
        cluster = {**spec, "properties": {"selector": _SELECTOR, **spec["properties"]}}
        check = check_usage if kind == "ResourceUsage" else _check_nothing
        found.append(_kind(KWOK, kind, spec, check=check))
        found.append(_kind(KWOK, f"Cluster{kind}", cluster, namespaced=False, check=check))
    return found


_PLURALS = {"Logs": "logs", "ClusterLogs": "clusterlogs", "Attach": "attaches"}


def _kind(
    group: str,
    kind: str,
    spec: Object,
    *,
    version: str = "v1alpha1",
    namespaced: bool = True,
    check: Check = _check_nothing,
    columns: tuple[Column, ...] = (),
) -> SchemaKind:
    plural = _PLURALS.get(kind) or (
        f"{kind.lower()}es" if kind.endswith("Attach") else f"{kind.lower()}s"
    )
    schema = _object(
        ["spec"], apiVersion=_STRING, kind=_STRING, metadata={"type": "object"}, spec=spec
    )
    age = Column("Age", "date", ".metadata.creationTimestamp")
    definition = Definition(
        group,
        Names(plural, kind, kind.lower(), f"{kind}List"),
        (Version(version, schema=schema, columns=(*columns, age)),),
        namespaced=namespaced,
        origin=Origin.PYTHON,
        defers_ownership=True,
    )
    return SchemaKind(definition, lambda obj, old: check(obj))
