"""OpenAPI v3 documents of served kinds: what `kubectl explain` and client-side validation read.

One document per group and version, made of the kinds' schemas, the types they refer to and their
paths. Follows apiextensions-apiserver/pkg/controller/openapi/builder and kube-openapi.
"""

from collections.abc import Iterable, Sequence

from inkube.schemas.definitions import Definition, Origin
from inkube.schemas.gotypes import table
from inkube.schemas.objects import Object
from inkube.schemas.openapi import notation
from inkube.schemas.openapi import paths as openapipaths
from inkube.schemas.openapi.notation import META

_ALWAYS = (f"{META}.DeleteOptions", f"{META}.Status", f"{META}.ListMeta", f"{META}.ObjectMeta")


def document(definitions: Sequence[Definition], version: str) -> Object:
    """The document of one group's version; `definitions` are the group's kinds that serve it."""
    paths: Object = {}
    for definition in definitions:
        paths |= openapipaths.paths(definition, version)
    custom = any(d.origin is not Origin.BUILTIN for d in definitions)
    title = "Kubernetes CRD Swagger" if custom else "Kubernetes"
    return {
        "openapi": "3.0.0",
        "info": {"title": title, "version": "v0.1.0" if custom else "unversioned"},
        "paths": paths,
        "components": {"schemas": components(definitions, version)},
    }


def components(definitions: Sequence[Definition], version: str) -> Object:
    """The schemas of the kinds, of their lists and of all types they refer to, by name."""
    own: Object = {}
    wanted = set(_ALWAYS)
    for definition in definitions:
        name = notation.name_of(definition, version)
        if definition.origin is Origin.BUILTIN:
            wanted.add(name)
        else:
            own[name] = notation.custom(definition, version)
        own[f"{name}List"] = notation.list_of(definition, version)
        wanted.update(_others(definition, version))
    found = table.components(n for n in sorted(wanted) if n in table.table().types)
    groups = {(d.group, version) for d in definitions}
    _mark(found, groups)
    found[f"{META}.Patch"] = notation.PATCH
    return dict(sorted((found | own).items()))


def _others(definition: Definition, version: str) -> Iterable[str]:
    """Types of subresources that are not the kind itself."""
    served = definition.version(version)
    if served is not None and served.scale:
        yield openapipaths.SCALE
    for _, gvk in openapipaths.subresource_kinds(definition, version):
        name = table.table().of(gvk)
        if name:
            yield name


def _mark(found: Object, groups: Iterable[tuple[str, str]]) -> None:
    """Say which types are kinds; every group has DeleteOptions of its own."""
    for key, name in table.table().kinds.items():
        if name in found:
            group, version, kind = key.split("/")
            mark = {"group": group, "kind": kind, "version": version}
            found[name].setdefault("x-kubernetes-group-version-kind", []).append(mark)
    options = [{"group": g, "kind": "DeleteOptions", "version": v} for g, v in sorted(groups)]
    found[f"{META}.DeleteOptions"]["x-kubernetes-group-version-kind"] = options
    status = {"group": "", "kind": "Status", "version": "v1"}
    found[f"{META}.Status"]["x-kubernetes-group-version-kind"] = [status]


def merged(documents: Iterable[Object]) -> Object:
    """OpenAPI v2 of everything: the same definitions and paths in the older notation."""
    definitions: Object = {}
    paths: Object = {}
    for each in documents:
        for name, schema in each["components"]["schemas"].items():
            if name not in definitions:
                definitions[name] = notation.to_v2(schema)
        for path, item in each["paths"].items():
            paths[path] = openapipaths.to_v2(item)
    return {
        "swagger": "2.0",
        "info": {"title": "Kubernetes", "version": "unversioned"},
        "paths": paths,
        "definitions": definitions,
    }
