"""The paths in OpenAPI documents: operations with their actions, kinds and parameters."""

import re
from collections.abc import Iterator

from inkube.schemas.builtin import resources
from inkube.schemas.definitions import Definition, Origin
from inkube.schemas.gotypes import table
from inkube.schemas.meta import GVK
from inkube.schemas.objects import Object
from inkube.schemas.openapi.notation import META, gvk_of, name_of, reference

SCALE = "io.k8s.api.autoscaling.v1.Scale"
_JSON = "application/json"
_MEDIA = (_JSON, "application/yaml")
_PATCH_MEDIA = (
    "application/apply-patch+yaml",
    "application/json-patch+json",
    "application/merge-patch+json",
)
_STRATEGIC = "application/strategic-merge-patch+json"
_METHODS = {
    "get": "get", "list": "get", "create": "post", "update": "put", "patch": "patch",
    "delete": "delete", "deletecollection": "delete",
}  # fmt: skip
_ACTIONS = {"create": "post", "update": "put"}
_WORDS = {
    "get": "read", "list": "list", "create": "create", "update": "replace", "patch": "patch",
    "delete": "delete", "deletecollection": "deleteCollection",
}  # fmt: skip
_PHRASES = {
    "get": "read the specified {}",
    "list": "list objects of kind {}",
    "create": "create a {}",
    "update": "replace the specified {}",
    "patch": "partially update the specified {}",
    "delete": "delete a {}",
    "deletecollection": "delete collection of {}",
}
_TEXTS = {
    "allowWatchBookmarks": "Ask for events of type BOOKMARK in a watch.",
    "continue": "Continue a list where the page that gave this token ended.",
    "dryRun": "When present, nothing is persisted. The only valid value is All.",
    "fieldManager": "The name of the actor that makes these changes.",
    "fieldSelector": "Restrict the returned objects by their fields. Defaults to everything.",
    "fieldValidation": "What to do with unknown or duplicate fields: Ignore, Warn (the default) or "
    "Strict.",
    "force": "Take over fields that other managers own. May be set for apply requests only.",
    "gracePeriodSeconds": "Seconds before the object is deleted; zero means at once.",
    "labelSelector": "Restrict the returned objects by their labels. Defaults to everything.",
    "limit": "The largest number of objects to return at once.",
    "orphanDependents": "Deprecated: use propagationPolicy.",
    "pretty": "If 'true', then the output is pretty printed.",
    "propagationPolicy": "Whether and how dependents are deleted: Orphan, Background, Foreground.",
    "resourceVersion": "Which resource versions a request may be served from.",
    "resourceVersionMatch": "How resourceVersion is applied to a list.",
    "sendInitialEvents": "Begin a watch with the objects there are.",
    "timeoutSeconds": "Ends the call after so many seconds.",
    "watch": "Stream changes instead of returning a list.",
}
_TYPES = {
    "allowWatchBookmarks": "boolean", "force": "boolean", "gracePeriodSeconds": "integer",
    "limit": "integer", "orphanDependents": "boolean", "sendInitialEvents": "boolean",
    "timeoutSeconds": "integer", "watch": "boolean",
}  # fmt: skip
_LIST = (
    "allowWatchBookmarks", "continue", "fieldSelector", "labelSelector", "limit",
    "resourceVersion", "resourceVersionMatch", "sendInitialEvents", "timeoutSeconds", "watch",
)  # fmt: skip
_WRITE = ("dryRun", "fieldManager", "fieldValidation")
_DELETE = ("dryRun", "gracePeriodSeconds", "orphanDependents", "propagationPolicy")
_PARAMETERS: dict[str, tuple[str, ...]] = {
    "get": (),
    "list": _LIST,
    "create": _WRITE,
    "update": _WRITE,
    "patch": (*_WRITE, "force"),
    "delete": _DELETE,
    "deletecollection": (*_LIST[1:7], *_DELETE),
}


def paths(definition: Definition, version: str) -> Object:
    """The path items of one kind at one version, without watches of the deprecated paths."""
    root = f"/apis/{definition.group}/{version}" if definition.group else f"/api/{version}"
    plural = definition.names.plural
    inner = f"{root}/namespaces/{{namespace}}/{plural}" if definition.namespaced else None
    collection = inner or f"{root}/{plural}"
    gvk, verbs = gvk_of(definition, version), definition.verbs
    shown = _Shown(definition, version, name_of(definition, version), gvk)
    found: Object = {}
    _put(
        found, collection, shown, [v for v in ("deletecollection", "list", "create") if v in verbs]
    )
    if inner and "list" in verbs:
        _put(found, f"{root}/{plural}", shown, ["list"])
    single: list[str] = [v for v in ("delete", "get", "patch", "update") if v in verbs]
    _put(found, f"{collection}/{{name}}", shown, single)
    for name, kind, sub_verbs in _subresources(definition, version):
        sub = _Shown(definition, version, *kind)
        _put(found, f"{collection}/{{name}}/{name}", sub, sub_verbs)
    return found


class _Shown:
    """What the operations of one path are about."""

    def __init__(self, definition: Definition, version: str, schema: str, gvk: Object) -> None:
        self.definition = definition
        self.schema = schema
        self.gvk = gvk
        self.kind = definition.names.kind
        self.version = version


def subresource_kinds(definition: Definition, version: str) -> Iterator[tuple[str, GVK]]:
    """The built-in subresources whose kind is not the parent's."""
    known = resources.by_name().get((definition.group, definition.names.plural))
    if definition.origin is not Origin.BUILTIN or known is None:
        return
    for sub in known.subresources:
        group = sub.group if sub.version else definition.group
        yield sub.name, GVK(group, sub.version or version, sub.kind)


def _subresources(
    definition: Definition, version: str
) -> Iterator[tuple[str, tuple[str, Object], list[str]]]:
    """(name, (schema, gvk), verbs) of each."""
    served = definition.version(version)
    own = (name_of(definition, version), gvk_of(definition, version))
    verbs = ["get", "patch", "update"]
    if definition.origin is not Origin.BUILTIN:
        if served is not None and served.status:
            yield "status", own, verbs
        if served is not None and served.scale:
            # the operations name the kind itself, as the reference has it
            yield "scale", (SCALE, own[1]), verbs
        return
    known = resources.by_name().get((definition.group, definition.names.plural))
    for sub in known.subresources if known else ():
        group = sub.group if sub.version else definition.group
        gvk = {"group": group, "kind": sub.kind, "version": sub.version or version}
        schema = table.table().of(GVK(gvk["group"], gvk["version"], sub.kind)) or ""
        yield sub.name, (schema, gvk), list(sub.verbs)


def _put(found: Object, path: str, shown: _Shown, verbs: list[str]) -> None:
    if not verbs:
        return
    item: Object = {_METHODS[verb]: _operation(path, shown, verb) for verb in verbs}
    item["parameters"] = list(_path_parameters(path))
    found[path] = item


def _path_parameters(path: str) -> Iterator[Object]:
    for name in ("name", "namespace"):
        if f"{{{name}}}" in path:
            yield {
                "name": name,
                "in": "path",
                "required": True,
                "description": f"{name} of the object",
                "schema": {"type": "string", "uniqueItems": True},
            }
    yield _parameter("pretty")


def _parameter(name: str) -> Object:
    return {
        "name": name,
        "in": "query",
        "description": _TEXTS[name],
        "schema": {"type": _TYPES.get(name, "string"), "uniqueItems": True},
    }


def _operation(path: str, shown: _Shown, verb: str) -> Object:
    kind = shown.gvk["kind"]
    made: Object = {
        "tags": [_tag(shown)],
        "description": _PHRASES[verb].format(kind),
        "operationId": _operation_id(path, shown, verb),
        "parameters": [_parameter(name) for name in _PARAMETERS[verb]],
        "responses": {"200": _answer("OK", _answered(shown, verb))},
        "x-kubernetes-action": _ACTIONS.get(verb, verb),
        "x-kubernetes-group-version-kind": shown.gvk,
    }
    if verb == "create":
        made["responses"] |= {
            "201": _answer("Created", shown.schema),
            "202": _answer("Accepted", shown.schema),
        }
    made["responses"]["401"] = {"description": "Unauthorized"}
    body = _body(shown, verb)
    if body:
        made["requestBody"] = body
    return made


def _answered(shown: _Shown, verb: str) -> str:
    if verb in ("delete", "deletecollection"):
        return f"{META}.Status"
    return f"{shown.schema}List" if verb == "list" and shown.schema else shown.schema


def _answer(text: str, schema: str) -> Object:
    made: Object = {"description": text}
    if schema:
        made["content"] = {media: {"schema": reference(schema)} for media in _MEDIA}
    return made


def _body(shown: _Shown, verb: str) -> Object | None:
    if verb == "patch":
        builtin = shown.definition.origin is Origin.BUILTIN
        media = (*_PATCH_MEDIA, _STRATEGIC) if builtin else _PATCH_MEDIA
        schema = reference(f"{META}.Patch")
        return {"required": True, "content": {name: {"schema": schema} for name in media}}
    if verb in ("delete", "deletecollection"):
        return {"content": {"*/*": {"schema": reference(f"{META}.DeleteOptions")}}}
    if verb in ("create", "update") and shown.schema:
        return {"required": True, "content": {"*/*": {"schema": reference(shown.schema)}}}
    return None


def _tag(shown: _Shown) -> str:
    """Group and version as one word: `stableExampleCom_v1`, `core_v1`."""
    group = _camel(shown.definition.group) or "Core"
    return f"{group[:1].lower()}{group[1:]}_{shown.version}"


def _operation_id(path: str, shown: _Shown, verb: str) -> str:
    """Such as `readStableExampleComV1NamespacedWidgetStatus`."""
    group = _camel(shown.definition.group) or "Core"
    inside = "Namespaced" if "{namespace}" in path else ""
    everywhere = shown.definition.namespaced and not inside
    _, named, sub = path.partition("{name}/")
    words = [_WORDS[verb], group, shown.version.title(), inside, shown.kind]
    return "".join([*words, _camel(sub) if named else "", "ForAllNamespaces" * everywhere])


def _camel(text: str) -> str:
    return "".join(part[:1].upper() + part[1:] for part in re.split(r"[.\-/]", text))


def to_v2(item: Object) -> Object:
    """A path item in the notation of version 2."""
    made: Object = {"parameters": [_parameter_v2(each) for each in item["parameters"]]}
    for method, operation in item.items():
        if method == "parameters":
            continue
        copy = {k: v for k, v in operation.items() if k not in ("requestBody", "responses")}
        copy["parameters"] = [_parameter_v2(each) for each in operation["parameters"]]
        body = operation.get("requestBody")
        copy["consumes"] = ["*/*"]
        if body:
            copy["consumes"] = list(body["content"])
            content = next(iter(body["content"].values()))
            parameter = {"name": "body", "in": "body", "schema": _schema_v2(content["schema"])}
            copy["parameters"].append({**parameter, "required": body.get("required", False)})
        copy["produces"] = list(_MEDIA)
        copy["responses"] = {
            code: _answer_v2(each) for code, each in operation["responses"].items()
        }
        made[method] = copy
    return made


def _parameter_v2(parameter: Object) -> Object:
    plain = {key: value for key, value in parameter.items() if key != "schema"}
    return {**plain, **parameter["schema"]}


def _answer_v2(answer: Object) -> Object:
    made: Object = {"description": answer["description"]}
    content = answer.get("content")
    if content:
        made["schema"] = _schema_v2(content[_JSON]["schema"])
    return made


def _schema_v2(schema: Object) -> Object:
    return {"$ref": schema["$ref"].replace("#/components/schemas/", "#/definitions/")}
