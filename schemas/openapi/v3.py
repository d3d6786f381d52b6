"""OpenAPI v3 documents of served kinds, for `kubectl explain` and client-side validation.

There is one document for each group version. It consists of the kinds' schemas, the types to which
they refer, and the paths. Follows apiextensions-apiserver/pkg/controller/openapi/builder and
kube-openapi.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any, Generic, NamedTuple, TypeVar
from weakref import WeakKeyDictionary

import orjson

from inkube.schemas import wordings
from inkube.schemas.definitions import Definition
from inkube.schemas.gotypes import table
from inkube.schemas.objects import Object
from inkube.schemas.openapi import aggregated, enums, notation
from inkube.schemas.openapi import paths as openapipaths
from inkube.schemas.openapi.notation import META

T = TypeVar("T")

_ALWAYS = (f"{META}.DeleteOptions", f"{META}.Status", f"{META}.ListMeta", f"{META}.ObjectMeta")
ROOTS = ("api", "apis", "version", ".well-known/openid-configuration", "openid/v1/jwks")
"""Documents for paths outside groups."""
_WRITTEN: dict[str, Object] = {
    f"{META}.MicroTime": {"type": "string", "format": "date-time"},
    notation.INT_OR_STRING: {
        "description": "IntOrString is a type that can hold an int32 or a string.  When used in "
        "JSON or YAML marshalling and unmarshalling, it produces or consumes the inner type.  This "
        "allows you to have, for example, a JSON field that can accept a name or number.",
        "format": "int-or-string",
        "oneOf": [{"type": "integer"}, {"type": "string"}],
    },
    notation.QUANTITY: {"oneOf": [{"type": "string"}, {"type": "number"}]},
}
"""Go types with their own OpenAPI definition."""
_SECURITY = {
    "BearerToken": {
        "description": "Bearer Token authentication",
        "in": "header",
        "name": "authorization",
        "type": "apiKey",
    }
}
_CUSTOM: Object = {
    "openapi": "3.0.0",
    "info": {"title": "Kubernetes CRD Swagger", "version": "v0.1.0"},
}
"""The start of documents for kinds that are not built in."""


def document(definitions: Sequence[Definition], version: str) -> Object:
    """Return the document of one group version. `definitions` are the kinds that it serves."""
    built_in = [wordings.of(each).documents_groups for each in definitions]
    paths: Object
    if not any(built_in):
        texts = openapipaths.Texts(version)
        paths = orjson.loads(b"{%b}" % b",".join(map(texts.of, definitions)))
    else:
        paths = openapipaths.of_version(definitions, version) if all(built_in) else {}
        for definition in definitions:
            paths |= openapipaths.paths(definition, version)
    if all(built_in):
        groups = {(each.group, version) for each in definitions}
        return _kubernetes(paths, groups, definitions[0].minor)
    return {**_CUSTOM, "paths": paths, "components": {"schemas": components(definitions, version)}}


class Part(NamedTuple):
    """The part of one kind in a document, as JSON."""

    schemas: dict[str, bytes]
    """The schemas of the kind and of its list, by name."""
    paths: bytes
    """The members of the object of paths, without its braces."""


class PerVersion(Generic[T]):
    """A value for each version of each kind, kept as long as the definition of the kind."""

    def __init__(self) -> None:
        self._values: WeakKeyDictionary[Definition, dict[str, T]] = WeakKeyDictionary()

    def of(self, definition: Definition, version: str, make: Callable[[], T]) -> T:
        """Return the value, made at the first call."""
        values = self._values.setdefault(definition, {})
        if version not in values:
            values[version] = make()
        return values[version]


def text(definitions: Sequence[Definition], version: str, parts: PerVersion[Part]) -> bytes:
    """Return the document as JSON. `parts` keeps the parts of kinds that are not built in, so that
    a change of one kind writes only this kind again."""
    if any(wordings.of(d).documents_groups for d in definitions):
        return orjson.dumps(document(definitions, version))
    texts = openapipaths.Texts(version)
    own = [parts.of(each, version, partial(_part, each, texts)) for each in definitions]
    types = _types(definitions, version)
    schemas = {name: orjson.dumps(schema) for name, schema in types.items()}
    for part in own:
        schemas |= part.schemas
    members = b",".join(
        [b"%b:%b" % (orjson.dumps(name), schemas[name]) for name in sorted(schemas)]
    )
    paths = b",".join([part.paths for part in own])
    head = orjson.dumps(_CUSTOM)[:-1]
    return b'%b,"components":{"schemas":{%b}},"paths":{%b}}' % (head, members, paths)


def _part(definition: Definition, texts: openapipaths.Texts) -> Part:
    return Part(_own_schemas(definition, texts.version), texts.of(definition))


def group_document(definition: Definition) -> Object:
    """Return the document of a built-in group. The definition is one of its kinds."""
    return _kubernetes(openapipaths.of_group(definition), (), definition.minor)


def root_documents(minor: int) -> dict[str, Object]:
    """Return the documents for paths outside groups, by their paths."""
    plain = openapipaths.plain
    json = ("application/json",)
    operations = {
        "api": (
            plain("get available API versions", "getCoreAPIVersions", f"{META}.APIVersions"),
            "core",
        ),
        "apis": (
            plain("get available API versions", "getAPIVersions", f"{META}.APIGroupList"),
            "apis",
        ),
        "version": (
            plain(
                "get the version information for this server", "getCodeVersion",
                "io.k8s.apimachinery.pkg.version.Info", json,
            ),
            "version",
        ),
        ".well-known/openid-configuration": (
            plain(
                "get service account issuer OpenID configuration, also known as the 'OIDC "
                "discovery doc'", "getServiceAccountIssuerOpenIDConfiguration", "", json,
            ),
            "WellKnown",
        ),
        "openid/v1/jwks": (
            plain(
                "get service account issuer OpenID JSON Web Key Set (contains public token "
                "verification keys)", "getServiceAccountIssuerOpenIDKeyset", "",
                ("application/jwk-set+json",),
            ),
            "openid",
        ),
    }  # fmt: skip
    return {
        path: _kubernetes({f"/{path}/": {"get": {**operation, "tags": [tag]}}}, (), minor)
        for path, (operation, tag) in operations.items()
    }


def _kubernetes(paths: Object, groups: Iterable[tuple[str, str]], minor: int) -> Object:
    """Return a document of built-in paths, with the schemas that these use."""
    names = sorted(set(_references(paths)) - {f"{META}.Patch"})
    types = table.table(minor).types
    schemas = table.components((name for name in names if name in types), minor=minor)
    _mark(schemas, groups, minor)
    if f"{META}.DeleteOptions" in schemas:
        schemas[f"{META}.Patch"] = notation.PATCH
    return {
        "openapi": "3.0.0",
        "info": {"title": "Kubernetes", "version": f"1.{minor}"},
        "paths": paths,
        "components": {"schemas": dict(sorted(schemas.items())), "securitySchemes": _SECURITY},
    }


def _references(node: Any) -> Iterator[str]:
    if isinstance(node, dict):
        target = node.get("$ref")
        if isinstance(target, str):
            yield target.removeprefix(notation.SCHEMAS)
        for child in node.values():
            yield from _references(child)
    elif isinstance(node, list):
        for child in node:
            yield from _references(child)


def components(definitions: Sequence[Definition], version: str) -> Object:
    """Return the schemas of the kinds, of their lists and of all types to which they refer, by
    name."""
    schemas = _types(definitions, version)
    for definition in definitions:
        own = _own_schemas(definition, version)
        schemas |= {name: orjson.loads(schema) for name, schema in own.items()}
    return dict(sorted(schemas.items()))


def _own_schemas(definition: Definition, version: str) -> dict[str, bytes]:
    """Return the schemas of a kind and of its list as JSON by name, or {} for a kind with a Go
    type."""
    wording = wordings.of(definition)
    if wording.has_types:
        return {}
    name = wording.schema_of(definition, version)
    return {
        name: notation.custom(definition, version),
        f"{name}List": orjson.dumps(notation.list_of(definition, version, name)),
    }


def _types(definitions: Sequence[Definition], version: str) -> Object:
    """Return the Go types of the kinds, and all types to which the kinds and these refer, by
    name."""
    names = set(_ALWAYS)
    for definition in definitions:
        wording = wordings.of(definition)
        name = wording.schema_of(definition, version)
        names |= {name, f"{name}List"}
        served = definition.version(version)
        parts = served.subresources if served is not None else ()
        names |= {wording.part_of(definition, version, part)[0] for part in parts}
    minor = definitions[0].minor
    types = table.table(minor).types
    schemas = table.components((n for n in sorted(names) if n in types), minor=minor)
    groups = {(d.group, version) for d in definitions}
    _mark(schemas, groups, minor)
    schemas[f"{META}.Patch"] = notation.PATCH
    return schemas


def _mark(schemas: Object, groups: Iterable[tuple[str, str]], minor: int) -> None:
    """Mark the types that are kinds, with DeleteOptions and WatchEvent in every group. Replace the
    schemas of types with their own JSON encoding."""
    for name, shape in _WRITTEN.items():
        if name in schemas:
            text = {"description": schemas[name].get("description", "")}
            schemas[name] = {key: value for key, value in (text | shape).items() if value}
    for name in schemas:
        for field, texts in enums.of_type(name).items():
            if field in schemas[name]["properties"]:
                enums.apply(schemas[name]["properties"][field], texts)
    for key, name in table.table(minor).kinds.items():
        if name in schemas:
            group, version, kind = key.split("/")
            mark = {"group": group, "kind": kind, "version": version}
            schemas[name].setdefault("x-kubernetes-group-version-kind", []).append(mark)
    places = sorted({("", "v1"), *groups})
    for kind in ("DeleteOptions", "WatchEvent"):
        if f"{META}.{kind}" in schemas:
            marks = [{"group": group, "kind": kind, "version": v} for group, v in places]
            schemas[f"{META}.{kind}"]["x-kubernetes-group-version-kind"] = marks
    if f"{META}.Status" in schemas:
        status = {"group": "", "kind": "Status", "version": "v1"}
        schemas[f"{META}.Status"]["x-kubernetes-group-version-kind"] = [status]


def merged(documents: Iterable[Object]) -> Object:
    """Return OpenAPI v2 for all documents: the same definitions and paths in the older notation. A
    definition of custom resources with the name of a built-in one gets another name
    (apiextensions-apiserver/pkg/controller/openapi/builder/merge.go)."""
    built_in: Object = {"definitions": {}, "paths": {}}
    custom: Object = {"definitions": {}, "paths": {}}
    for each in documents:
        part = custom if each["info"] == _CUSTOM["info"] else built_in
        for name, schema in each["components"]["schemas"].items():
            if name not in part["definitions"]:
                part["definitions"][name] = notation.type_to_v2(name, schema)
        for path, item in each["paths"].items():
            part["paths"][path] = openapipaths.to_v2(item)
    return {
        "swagger": "2.0",
        "info": {"title": "Kubernetes", "version": "unversioned"},
        **aggregated.join(built_in, custom),
        "securityDefinitions": _SECURITY,
    }
