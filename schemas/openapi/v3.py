"""OpenAPI v3 documents of served kinds, for `kubectl explain` and client-side validation.

There is one document for each group version. It consists of the kinds' schemas, the types to which
they refer, and the paths. Follows apiextensions-apiserver/pkg/controller/openapi/builder and
kube-openapi.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import orjson

from inkube.schemas import wordings
from inkube.schemas.definitions import Definition
from inkube.schemas.gotypes import table
from inkube.schemas.objects import Object
from inkube.schemas.openapi import enums, notation
from inkube.schemas.openapi import paths as openapipaths
from inkube.schemas.openapi.notation import META

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
    paths: Object = {}
    for definition in definitions:
        paths |= openapipaths.paths(definition, version)
    if all(wordings.of(d).documents_groups for d in definitions):
        paths = openapipaths.of_version(definitions, version) | paths
        groups = {(d.group, version) for d in definitions}
        return _kubernetes(paths, groups, definitions[0].minor)
    return {**_CUSTOM, "paths": paths, "components": {"schemas": components(definitions, version)}}


def text(definitions: Sequence[Definition], version: str) -> bytes:
    """Return the document as JSON."""
    if any(wordings.of(d).documents_groups for d in definitions):
        return orjson.dumps(document(definitions, version))
    texts = openapipaths.Texts(version)
    made = orjson.dumps({**_CUSTOM, "components": {"schemas": components(definitions, version)}})
    paths = b",".join(map(texts.of, definitions))
    return made[:-1] + b',"paths":{' + paths + b"}}"


def group_document(definition: Definition) -> Object:
    """Return the document of a built-in group. The definition is one of its kinds."""
    return _kubernetes(openapipaths.of_group(definition), (), definition.minor)


def root_documents(minor: int) -> dict[str, Object]:
    """Return the documents for paths outside groups, by their paths."""
    plain = openapipaths.plain
    json = ("application/json",)
    found = {
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
        for path, (operation, tag) in found.items()
    }


def _kubernetes(paths: Object, groups: Iterable[tuple[str, str]], minor: int) -> Object:
    """Return a document of built-in paths, with the schemas that these use."""
    names = sorted(set(_references(paths)) - {f"{META}.Patch"})
    known = table.table(minor).types
    found = table.components((name for name in names if name in known), minor=minor)
    _mark(found, groups, minor)
    if f"{META}.DeleteOptions" in found:
        found[f"{META}.Patch"] = notation.PATCH
    return {
        "openapi": "3.0.0",
        "info": {"title": "Kubernetes", "version": f"1.{minor}"},
        "paths": paths,
        "components": {"schemas": dict(sorted(found.items())), "securitySchemes": _SECURITY},
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
    own: Object = {}
    wanted = set(_ALWAYS)
    for definition in definitions:
        wording = wordings.of(definition)
        name = wording.schema_of(definition, version)
        wanted |= {name, f"{name}List"}
        served = definition.version(version)
        parts = served.subresources if served is not None else ()
        wanted |= {wording.part_of(definition, version, part)[0] for part in parts}
        if not wording.has_types:
            own[name] = notation.custom(definition, version)
            own[f"{name}List"] = notation.list_of(definition, version, name)
    minor = definitions[0].minor
    known = table.table(minor).types
    found = table.components((n for n in sorted(wanted) if n in known), minor=minor)
    groups = {(d.group, version) for d in definitions}
    _mark(found, groups, minor)
    found[f"{META}.Patch"] = notation.PATCH
    return dict(sorted((found | own).items()))


def _mark(found: Object, groups: Iterable[tuple[str, str]], minor: int) -> None:
    """Mark the types that are kinds, with DeleteOptions and WatchEvent in every group. Replace the
    schemas of types with their own JSON encoding."""
    for name, shape in _WRITTEN.items():
        if name in found:
            text = {"description": found[name].get("description", "")}
            found[name] = {key: value for key, value in (text | shape).items() if value}
    for name in found:
        for field, texts in enums.of_type(name).items():
            if field in found[name]["properties"]:
                enums.apply(found[name]["properties"][field], texts)
    for key, name in table.table(minor).kinds.items():
        if name in found:
            group, version, kind = key.split("/")
            mark = {"group": group, "kind": kind, "version": version}
            found[name].setdefault("x-kubernetes-group-version-kind", []).append(mark)
    places = sorted({("", "v1"), *groups})
    for kind in ("DeleteOptions", "WatchEvent"):
        if f"{META}.{kind}" in found:
            marks = [{"group": group, "kind": kind, "version": v} for group, v in places]
            found[f"{META}.{kind}"]["x-kubernetes-group-version-kind"] = marks
    if f"{META}.Status" in found:
        status = {"group": "", "kind": "Status", "version": "v1"}
        found[f"{META}.Status"]["x-kubernetes-group-version-kind"] = [status]


def merged(documents: Iterable[Object]) -> Object:
    """Return OpenAPI v2 for all documents: the same definitions and paths in the older notation."""
    definitions: Object = {}
    paths: Object = {}
    for each in documents:
        for name, schema in each["components"]["schemas"].items():
            if name not in definitions:
                definitions[name] = notation.type_to_v2(name, schema)
        for path, item in each["paths"].items():
            paths[path] = openapipaths.to_v2(item)
    return {
        "swagger": "2.0",
        "info": {"title": "Kubernetes", "version": "unversioned"},
        "paths": paths,
        "definitions": definitions,
        "securityDefinitions": _SECURITY,
    }
