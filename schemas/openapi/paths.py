"""The paths in OpenAPI documents: operations with their actions, kinds and parameters.

Parameters of all operations of a path are in the path item. `parameters.json` contains the texts of
parameters. Follows apiserver/pkg/endpoints/installer.go and kube-openapi/pkg/builder3.
"""

import re
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import NamedTuple

import orjson

from inkube.schemas import caches, wordings
from inkube.schemas.definitions import Definition, Names
from inkube.schemas.objects import Object
from inkube.schemas.openapi.notation import META, gvk_of, reference
from inkube.schemas.wordings import MEDIA, Wording

_METHODS = {
    "get": "get", "list": "get", "create": "post", "update": "put", "patch": "patch",
    "delete": "delete", "deletecollection": "delete", "watch": "get", "watchlist": "get",
}  # fmt: skip
_ACTIONS = {"create": "post", "update": "put"}
_WORDS = {
    "get": "read", "list": "list", "create": "create", "update": "replace", "patch": "patch",
    "delete": "delete", "deletecollection": "deleteCollection",
}  # fmt: skip
_DEPRECATED = "deprecated: use the 'watch' parameter with a list operation instead"
_PHRASES = {
    "get": "read {}the specified {}",
    "list": "list objects of kind {1}",
    "create": "create {}a {}",
    "update": "replace {}the specified {}",
    "patch": "partially update {}the specified {}",
    "delete": "delete {}a {}",
    "deletecollection": "delete collection of {1}",
    "watch": f"watch changes to an object of kind {{1}}. {_DEPRECATED}, filtered to a single item "
    "with the 'fieldSelector' parameter.",
    "watchlist": f"watch individual changes to a list of {{1}}. {_DEPRECATED}.",
}
_LIST = (
    "allowWatchBookmarks", "continue", "fieldSelector", "labelSelector", "limit", "resourceVersion",
    "resourceVersionMatch", "sendInitialEvents", "shardSelector", "timeoutSeconds", "watch",
)  # fmt: skip
_WRITE = ("dryRun", "fieldManager", "fieldValidation")
_DELETE = (
    "dryRun", "gracePeriodSeconds", "ignoreStoreReadErrorWithClusterBreakingPotential",
    "orphanDependents", "propagationPolicy",
)  # fmt: skip
_PARAMETERS: dict[str, tuple[str, ...]] = {
    "get": (),
    "list": _LIST,
    "watch": _LIST,
    "watchlist": _LIST,
    "create": _WRITE,
    "update": _WRITE,
    "patch": ("dryRun", "fieldManager of patches", "fieldValidation", "force"),
    "delete": _DELETE,
    "deletecollection": (*_LIST[1:10], *_DELETE),
}
_STREAMS = ("command", "container", "stderr", "stdin", "stdout", "tty")
_OPTIONS = {
    "attach": _STREAMS[1:],
    "exec": _STREAMS,
    "portforward": ("ports",),
    "proxy": ("path",),
    "log": (
        "container", "follow", "insecureSkipTLSVerifyBackend", "limitBytes", "previous",
        "sinceSeconds", "stream", "tailLines", "timestamps",
    ),
}  # fmt: skip
"""Operations on kubelets and proxies, by subresource."""


def paths(definition: Definition, version: str) -> Object:
    """Return the path items of one kind in one version."""
    plural, verbs = definition.names.plural, definition.verbs
    root = f"/apis/{definition.group}/{version}" if definition.group else f"/api/{version}"
    inner = f"{root}/namespaces/{{namespace}}/{plural}" if definition.namespaced else None
    collection = inner or f"{root}/{plural}"
    wording = wordings.of(definition)
    name = wording.schema_of(definition, version)
    scope = _RequestScope(definition, version, name, gvk_of(definition, version))
    items: Object = {}
    _put(items, collection, scope, _of(verbs, "deletecollection", "list", "create"))
    if inner:
        _put(items, f"{root}/{plural}", scope, _of(verbs, "list"))
    if "get" in verbs:
        _put(items, f"{collection}/{{name}}", scope, _of(verbs, "delete", "get", "patch", "update"))
    if wording.documents_watches and "watch" in verbs:
        watched = collection.replace(root, f"{root}/watch", 1)
        for path in dict.fromkeys((f"{root}/watch/{plural}", watched)):
            _put(items, path, scope, ["watchlist"])
        _put(items, f"{watched}/{{name}}", scope, ["watch"])
    served = definition.version(version)
    for part in served.subresources if served is not None else ():
        schema, gvk = wording.part_of(definition, version, part)
        sub = _RequestScope(definition, version, schema, gvk._asdict(), part.name)
        path = f"{collection}/{{name}}/{part.name}"
        _put(items, path, sub, part.verbs)
        if part.deprecated:
            for operation in items[path].values():
                if isinstance(operation, dict):
                    operation["deprecated"] = True
        if part.name == "proxy":
            _put(items, f"{path}/{{path}}", sub, part.verbs)
    return items


class Texts:
    """The path items of many kinds of one version as JSON.

    Kinds that differ only in their names have equal path items apart from these names. The items
    are created one time for each such set of kinds, and the names are inserted into the text.
    """

    def __init__(self, version: str) -> None:
        self.version = version
        self._encoded: dict[Hashable, bytes] = {}

    def of(self, definition: Definition) -> bytes:
        """Return the members of the object of `paths` as JSON, without its braces."""
        names, served = definition.names, definition.version(self.version)
        assert served is not None, "a document has the kinds that its version serves"
        sort = (
            *(getattr(definition, name) for name in _facts(type(definition))),
            served.subresources,
            _vowel(names.kind),
        )
        if sort not in self._encoded:
            stand_in = Names(_PLURAL, f"{names.kind[0]}{_KIND}")
            items = paths(replace(definition, names=stand_in), self.version)
            self._encoded[sort] = orjson.dumps(items)[1:-1].replace(
                stand_in.kind.encode(), _KIND.encode()
            )
        text = self._encoded[sort].replace(_KIND.encode(), names.kind.encode())
        return text.replace(_PLURAL.encode(), names.plural.encode())


_VARYING = ("names", "versions", "webhook")
_KIND, _PLURAL = "\u241fkind", "\u241fplural"
"""Placeholders for names. Names cannot contain these characters."""


@caches.of_values(8)
def _facts(kind: type[Definition]) -> tuple[str, ...]:
    """Return the members of definitions that select the path items."""
    return tuple(each.name for each in fields(kind) if each.name not in _VARYING)


def _of(verbs: Iterable[str], *order: str) -> list[str]:
    return [verb for verb in order if verb in verbs]


class _RequestScope(NamedTuple):
    """The kind and the form of the operations of one path."""

    definition: Definition
    version: str
    schema: str
    gvk: Object
    sub: str = ""

    @property
    def wording(self) -> Wording:
        return wordings.of(self.definition)

    @property
    def kind(self) -> str:
        return self.definition.names.kind

    @property
    def connects(self) -> bool:
        """Whether requests are forwarded to a kubelet or through a proxy."""
        return self.sub in _OPTIONS and self.sub != "log"


def _put(items: Object, path: str, scope: _RequestScope, verbs: Sequence[str]) -> None:
    if not verbs:
        return
    make = _connection if scope.connects else _operation
    operations = {_METHODS[verb]: make(path, scope, verb) for verb in verbs}
    lists = [operation["parameters"] for operation in operations.values()]
    shared = [each for each in lists[0] if all(each in other for other in lists)]
    for operation in operations.values():
        own = [each for each in operation.pop("parameters") if each not in shared]
        if own:
            operation["parameters"] = own
    items[path] = operations
    if shared:
        items[path]["parameters"] = shared


def _parameters(path: str, scope: _RequestScope, names: Iterable[str]) -> list[Object]:
    """Return the parameters of the path, `pretty` and `names`, sorted by name."""
    parameters = [_parameter(name) for name in names]
    if not scope.connects:
        parameters.append(_parameter("pretty"))
    texts = {
        "name": f"name of the {scope.gvk['kind']}",
        "namespace": "object name and auth scope, such as for teams and projects",
        "path": "path to the resource",
    }
    for name, text in texts.items():
        if f"{{{name}}}" in path:
            schema = {"type": "string", "uniqueItems": True}
            where = {"name": name, "in": "path", "required": True}
            parameters.append({**where, "description": text, "schema": schema})
    return sorted(parameters, key=lambda each: (each["name"], each["in"]))


@caches.of_values(1)
def _texts() -> dict[str, dict[str, str]]:
    texts: dict[str, dict[str, str]]
    texts = orjson.loads(Path(__file__).with_name("parameters.json").read_bytes())
    return texts


def _parameter(name: str) -> Object:
    text = _texts()[name]
    return {
        "name": name.partition(" ")[0],
        "in": "query",
        "description": text["description"],
        "schema": {"type": text["type"], "uniqueItems": True},
    }


def _operation(path: str, scope: _RequestScope, verb: str) -> Object:
    names = _OPTIONS["log"] if scope.sub == "log" else _PARAMETERS[verb]
    operation: Object = {
        "tags": [tag(scope.definition, scope.version)],
        "description": _phrase(scope, verb),
        "operationId": _operation_id(path, scope, verb),
        "parameters": _parameters(path, scope, names),
        "responses": _responses(scope, verb),
        "x-kubernetes-action": _ACTIONS.get(verb, verb),
        "x-kubernetes-group-version-kind": scope.gvk,
    }
    body = _body(scope, verb)
    if body:
        operation["requestBody"] = body
    return operation


def _phrase(scope: _RequestScope, verb: str) -> str:
    if verb == "list" and scope.wording.documents_watches and "watch" in scope.definition.verbs:
        return f"list or watch objects of kind {scope.kind}"
    text = _PHRASES[verb].format(f"{scope.sub} of " if scope.sub else "", scope.kind)
    return text.replace(f" a {scope.kind}", f" an {scope.kind}") if _vowel(scope.kind) else text


def _vowel(kind: str) -> bool:
    """Return whether Go's GetArticleForNoun returns "an"."""
    return kind[:1].lower() in "aeio"


def _connection(path: str, scope: _RequestScope, verb: str) -> Object:
    """Return a forwarded operation, whose response is that of the other server."""
    method = _METHODS[verb]
    word = method.upper()
    ending = "WithPath" if "{path}" in path else ""
    group, kind = _group(scope.definition), scope.kind
    inside = "Namespaced" if "{namespace}" in path else ""
    start = f"connect{group}{scope.version.title()}{word.title()}{inside}{kind}"
    content = {"*/*": {"schema": {"type": "string"}}}
    return {
        "tags": [tag(scope.definition, scope.version)],
        "description": f"connect {word} requests to {scope.sub} of {kind}",
        "operationId": f"{start}{_camel(scope.sub)}{ending}",
        "parameters": _parameters(path, scope, _OPTIONS[scope.sub]),
        "responses": {
            "200": {"description": "OK", "content": content},
            "401": {"description": "Unauthorized"},
        },
        "x-kubernetes-action": "connect",
        "x-kubernetes-group-version-kind": scope.gvk,
    }


def _responses(scope: _RequestScope, verb: str) -> Object:
    schema, media = _response_schema(scope, verb), scope.wording.media
    if verb in ("list", "watch", "watchlist"):
        media = scope.wording.list_media(scope.definition)
    if scope.sub == "log":
        media, schema = ("text/plain", *MEDIA), ""
    responses = {"200": answer("OK", schema, media)}
    if verb in ("create", "update", "patch"):
        responses["201"] = answer("Created", schema, media)
    if verb in ("create", "delete"):
        responses["202"] = answer("Accepted", schema, media)
    responses["401"] = {"description": "Unauthorized"}
    return responses


def _response_schema(scope: _RequestScope, verb: str) -> str:
    definition = scope.definition
    if verb == "delete" and not scope.sub and definition.returns_deleted:
        return scope.schema
    if verb in ("delete", "deletecollection"):
        return f"{META}.Status"
    if verb in ("watch", "watchlist"):
        return f"{META}.WatchEvent"
    return f"{scope.schema}List" if verb == "list" and scope.schema else scope.schema


def answer(text: str, schema: str, media: Iterable[str] = MEDIA) -> Object:
    """Return a response with that schema, or a text without a schema."""
    content = reference(schema) if schema else {"type": "string"}
    return {"description": text, "content": {name: {"schema": content} for name in media}}


def _body(scope: _RequestScope, verb: str) -> Object | None:
    if verb == "patch":
        schema = reference(f"{META}.Patch")
        content = {name: {"schema": schema} for name in scope.wording.patch_media}
        return {"required": True, "content": content}
    if verb in ("delete", "deletecollection"):
        return {"content": {"*/*": {"schema": reference(f"{META}.DeleteOptions")}}}
    if verb in ("create", "update") and scope.schema:
        return {"required": True, "content": {"*/*": {"schema": reference(scope.schema)}}}
    return None


def tag(definition: Definition, version: str = "") -> str:
    """Return group and version as one word: `stableExampleCom_v1`, `core_v1`, or `core` without a
    version."""
    group = _group(definition)
    return f"{group[:1].lower()}{group[1:]}{'_' if version else ''}{version}"


def _group(definition: Definition) -> str:
    """Return a group in operation ids: `Core`, `RbacAuthorization`, `StableExampleCom`."""
    return _camel(wordings.of(definition).group_word(definition.group)) or "Core"


def _operation_id(path: str, scope: _RequestScope, verb: str) -> str:
    """Return an id such as `readStableExampleComV1NamespacedWidgetStatus`."""
    group, version, kind = _group(scope.definition), scope.version.title(), scope.kind
    inside = "Namespaced" if "{namespace}" in path else ""
    everywhere = "ForAllNamespaces" * (scope.definition.namespaced and not inside)
    if verb in ("watch", "watchlist"):
        listed = "List" * (verb == "watchlist")
        return f"watch{group}{version}{inside}{kind}{listed}{everywhere}"
    middle = "Collection" * (verb == "deletecollection")
    word = "delete" if middle else _WORDS[verb]
    return f"{word}{group}{version}{middle}{inside}{kind}{_camel(scope.sub)}{everywhere}"


def _camel(text: str) -> str:
    return "".join(part[:1].upper() + part[1:] for part in re.split(r"[.\-/]", text))


def of_version(definitions: Sequence[Definition], version: str) -> Object:
    """Return the path item of the version of a built-in group."""
    group = definitions[0].group
    path = f"/apis/{group}/{version}/" if group else f"/api/{version}/"
    name = f"get{_group(definitions[0])}{version.title()}APIResources"
    operation = plain("get available resources", name, f"{META}.APIResourceList")
    return {path: {"get": {**operation, "tags": [tag(definitions[0], version)]}}}


def of_group(definition: Definition) -> Object:
    """Return the path item of a built-in group."""
    name = f"get{_group(definition)}APIGroup"
    operation = plain("get information of a group", name, f"{META}.APIGroup")
    return {f"/apis/{definition.group}/": {"get": {**operation, "tags": [tag(definition)]}}}


def plain(text: str, name: str, schema: str, media: Iterable[str] = MEDIA) -> Object:
    """Return an operation that reads something other than an object. The caller adds `tags`."""
    responses = {"200": answer("OK", schema, media), "401": {"description": "Unauthorized"}}
    return {"description": text, "operationId": name, "responses": responses}


def to_v2(item: Object) -> Object:
    """Return a path item in the notation of version 2."""
    item_v2: Object = {}
    if "parameters" in item:
        item_v2["parameters"] = [_parameter_v2(each) for each in item["parameters"]]
    for method, operation in item.items():
        if method == "parameters":
            continue
        copy = {k: v for k, v in operation.items() if k not in ("requestBody", "responses")}
        copy["parameters"] = [_parameter_v2(each) for each in operation.get("parameters", ())]
        body = operation.get("requestBody")
        copy["consumes"] = ["*/*"]
        if body:
            copy["consumes"] = list(body["content"])
            content = next(iter(body["content"].values()))
            parameter = {"name": "body", "in": "body", "schema": _schema_v2(content["schema"])}
            copy["parameters"].append({**parameter, "required": body.get("required", False)})
        copy["produces"] = list(operation["responses"]["200"].get("content", ()))
        copy["responses"] = {
            code: _answer_v2(each) for code, each in operation["responses"].items()
        }
        item_v2[method] = copy
    return item_v2


def _parameter_v2(parameter: Object) -> Object:
    plain = {key: value for key, value in parameter.items() if key != "schema"}
    return {**plain, **parameter["schema"]}


def _answer_v2(answer: Object) -> Object:
    response: Object = {"description": answer["description"]}
    content = answer.get("content")
    if content:
        response["schema"] = _schema_v2(next(iter(content.values()))["schema"])
    return response


def _schema_v2(schema: Object) -> Object:
    if "$ref" not in schema:
        return schema
    return {"$ref": schema["$ref"].replace("#/components/schemas/", "#/definitions/")}
