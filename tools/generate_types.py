"""Makes `types.json` and `descriptions.json.gz` from the package kubernetes-validate.

Run by hand when the Kubernetes version moves; never imported by the server:

    pip install kubernetes-validate
    python tools/generate_types.py [FOLDER-OF-JSON-SCHEMAS]

What the package's JSON schemas lost on their way (nullable for optional, which struct fields are
values and which scalars pointers, the defaults of OpenAPI v3) is put back: the first by undoing it,
the others from `facts.txt`. Only what the resources of `resources.txt` reach is kept.
"""

import base64
import gzip
import importlib.metadata
import importlib.util
import json
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from inkube.schemas.builtin import resources

RELEASE = "v1.36.0"
PACKAGE = "kubernetes-validate"
GENERATOR = 4
BLOCK = 16  # types: half as many make the table larger, twice as many a server reads more
HERE = Path(__file__).parents[1] / "schemas" / "gotypes"
PREFIX = "#/$defs/"
APIEXTENSIONS = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1"
ALWAYS = (
    "io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions",
    "io.k8s.apimachinery.pkg.apis.meta.v1.Status",
    "io.k8s.apimachinery.pkg.apis.meta.v1.APIGroup",
    "io.k8s.apimachinery.pkg.apis.meta.v1.APIGroupList",
    "io.k8s.apimachinery.pkg.apis.meta.v1.APIResourceList",
    "io.k8s.apimachinery.pkg.apis.meta.v1.APIVersions",
    "io.k8s.apimachinery.pkg.apis.meta.v1.WatchEvent",
    "io.k8s.apimachinery.pkg.version.Info",
    "io.k8s.api.autoscaling.v1.Scale",
)
PLAIN: dict[str, dict[str, Any]] = {
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString": {"x-kubernetes-int-or-string": True},
    "io.k8s.apimachinery.pkg.api.resource.Quantity": {
        "x-kubernetes-int-or-string": True,
        "format": "quantity",
    },
    "io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime": {"type": "string", "format": "micro-time"},
    "io.k8s.apimachinery.pkg.apis.meta.v1.FieldsV1": {
        "type": "object",
        "x-kubernetes-preserve-unknown-fields": True,
    },
    "io.k8s.apimachinery.pkg.runtime.RawExtension": {
        "type": "object",
        "x-kubernetes-preserve-unknown-fields": True,
    },
}
for _union in ("JSON", "JSONSchemaPropsOrArray", "JSONSchemaPropsOrBool"):
    PLAIN[f"{APIEXTENSIONS}.{_union}"] = {"x-kubernetes-preserve-unknown-fields": True}
PLAIN[f"{APIEXTENSIONS}.JSONSchemaPropsOrStringArray"] = PLAIN[f"{APIEXTENSIONS}.JSON"]
KEPT = ("type", "format", "default", "enum", "required", "$ref")
ZEROS: dict[str, Any] = {"string": "", "integer": 0, "number": 0, "boolean": False}
Facts = dict[str, dict[str, list[str]]]


def main(arguments: list[str]) -> None:
    """Write both files next to the modules that read them."""
    folder = Path(arguments[0]) if arguments else package_folder()
    source = json.loads((folder / f"{RELEASE}-local" / "_definitions.json").read_text())["$defs"]
    names = reachable(source)
    header = {"release": RELEASE, "source": _source(), "generator": GENERATOR}
    types = {name: structure(name, source[name]) for name in names}
    _add_facts(types, _facts())
    kinds = {_gvk(entry): name for name in names for entry in _entries(source[name])}
    texts = {name: _compact(found) for name, found in types.items()}  # read one by one
    _write_text("types.json", _compact({**header, "kinds": kinds, "blocks": list(_blocks(texts))}))
    descriptions = {name: _texts(source[name]) for name in names}
    _write("descriptions.json.gz", {**header, "descriptions": descriptions})


def _blocks(texts: dict[str, str]) -> Iterator[tuple[str, str]]:
    """Yield the name of the first type, and all types of the block, compressed. `table.Types` reads
    them."""
    names = sorted(texts)
    for start in range(0, len(names), BLOCK):
        block = names[start : start + BLOCK]
        packed = zlib.compress(_compact({name: texts[name] for name in block}).encode(), 9)
        yield block[0], base64.b64encode(packed).decode()


def package_folder() -> Path:
    spec = importlib.util.find_spec("kubernetes_validate")
    if spec is None or spec.origin is None:
        raise SystemExit(f"pip install {PACKAGE}")
    return Path(spec.origin).parent / "kubernetes-json-schema"


def _source() -> str:
    try:
        return f"{PACKAGE} {importlib.metadata.version(PACKAGE)}"
    except importlib.metadata.PackageNotFoundError:
        return PACKAGE


def _entries(definition: dict[str, Any]) -> list[dict[str, str]]:
    found: list[dict[str, str]] = definition.get("x-kubernetes-group-version-kind", [])
    return found if len(found) == 1 else []


def _gvk(entry: dict[str, str]) -> str:
    return f"{entry['group']}/{entry['version']}/{entry['kind']}"


def _wanted() -> set[str]:
    wanted = set()
    for resource in resources.read():
        for version in resource.versions:
            wanted.add(f"{resource.group}/{version}/{resource.kind}")
            wanted.add(f"{resource.group}/{version}/{resource.kind}List")
        for sub in resource.subresources:
            version = sub.version or resource.versions[0]
            wanted.add(f"{sub.group if sub.version else resource.group}/{version}/{sub.kind}")
    return wanted


def reachable(source: dict[str, Any]) -> list[str]:
    wanted = _wanted()
    pending = [name for name, d in source.items() if any(_gvk(e) in wanted for e in _entries(d))]
    pending.extend(ALWAYS)
    found: set[str] = set()
    while pending:
        name = pending.pop()
        if name not in found:
            found.add(name)
            pending.extend(_references(source[name]))
    return sorted(found)


def _references(node: Any) -> Iterator[str]:
    if isinstance(node, dict):
        reference = node.get("$ref")
        if isinstance(reference, str):
            yield reference.removeprefix(PREFIX)
        for child in node.values():
            yield from _references(child)


def structure(name: str, node: dict[str, Any]) -> dict[str, Any]:
    if name in PLAIN:
        return PLAIN[name]
    return _clean(node)


def _clean(node: dict[str, Any]) -> dict[str, Any]:
    """Return a schema without descriptions and without the `null` of optional fields."""
    kept: dict[str, Any] = {}
    for key, value in node.items():
        if key == "type" and isinstance(value, list):
            kept[key] = next(entry for entry in value if entry != "null")
        elif key == "$ref":
            kept[key] = value.removeprefix(PREFIX)
        elif key in KEPT or (key.startswith("x-") and key != "x-kubernetes-group-version-kind"):
            kept[key] = value
    _clean_children(node, kept)
    return kept


def _clean_children(node: dict[str, Any], kept: dict[str, Any]) -> None:
    if "properties" in node:
        kept["properties"] = {key: _clean(child) for key, child in node["properties"].items()}
        for own in ("apiVersion", "kind"):
            kept["properties"].get(own, {}).pop("enum", None)
    for key in ("items", "additionalProperties"):
        if isinstance(node.get(key), dict):
            kept[key] = _clean(node[key])


def _facts() -> Facts:
    """Return `facts.txt` as section → type → words. Its first lines explain the sections."""
    facts: Facts = {}
    section: dict[str, list[str]] = {}
    for line in (HERE / "facts.txt").read_text().splitlines():
        words = line.split()
        if not words or line.startswith("#"):
            continue
        if len(words) == 1:
            section = facts.setdefault(words[0], {})
        else:
            section[words[0]] = words[1:]
    return facts


def _add_facts(types: dict[str, Any], facts: Facts) -> None:
    """Add `x-go` and OpenAPI v3's defaults to fields. A fact about a missing field is an error."""
    short = {".".join(name.split(".")[-3:]): definition for name, definition in types.items()}
    for definition in types.values():
        _add_zeros(definition, types)
    for section in ("values", "pointers", "nulls", "emitted", "hidden"):
        for name, fields in facts[section].items():
            for field in fields:
                _mark(short[name]["properties"][field], section)
    for name, words in facts["default"].items():
        for word in words:
            field, _, value = word.partition("=")
            short[name]["properties"][field]["default"] = json.loads(value)
    for name, words in facts["named"].items():
        for word in words:
            field, _, go_type = word.partition("=")
            node = short[name]["properties"][field]
            node.get("items", node)["x-go-type"] = go_type
    for name, words in facts["typed"].items():
        for word in words:
            field, _, go_type = word.partition("=")
            node = short[name]["properties"][field.removesuffix("{}")]
            (node["additionalProperties"] if field.endswith("{}") else node)["x-go-type"] = go_type
    for name, words in facts["embedded"].items():
        for word in words:
            struct, _, members = word.partition("=")
            listed = members.removeprefix("-").split(",")
            properties = short[name]["properties"]
            inside = properties.keys() - listed if members.startswith("-") else listed
            for field in sorted(inside):
                properties[field]["x-go-in"] = struct


def _mark(field: dict[str, Any], section: str) -> None:
    if section == "values":
        field["default"] = {}
    elif section == "hidden":
        field.pop("default", None)
        field["x-go"] = "hidden"
    else:
        field["x-go"] = section.removesuffix("s")
        if section in ("pointers", "nulls"):
            field.pop("default", None)
        elif field.get("type") in ZEROS and field.get("format") != "date-time":
            field["default"] = ZEROS[field["type"]]


def _add_zeros(definition: dict[str, Any], types: dict[str, Any]) -> None:
    fields: dict[str, Any] = definition.get("properties", {})
    for name, field in fields.items():
        target = types.get(field.get("$ref", ""), {})
        if "properties" in target and (
            name in definition.get("required", ())
            or name == "metadata"
            or (name in ("spec", "status") and "metadata" in fields)
        ):
            field["default"] = {}
        elif (
            name in definition.get("required", ())
            and field.get("type") in ZEROS
            and field.get("format") != "byte"
        ):
            field["default"] = ZEROS[field["type"]]


def _texts(node: dict[str, Any]) -> dict[str, str]:
    texts = {
        key: child["description"]
        for key, child in node.get("properties", {}).items()
        if "description" in child
    }
    if "description" in node:
        texts[""] = node["description"]
    return texts


def _compact(content: dict[str, Any]) -> str:
    return json.dumps(content, separators=(",", ":"), sort_keys=True, ensure_ascii=False)


def _write_text(name: str, text: str) -> None:
    (HERE / name).write_text(text)
    sys.stdout.write(f"{name}: {len(text)} characters\n")


def _write(name: str, content: dict[str, Any]) -> None:
    text = _compact(content)
    packed = gzip.compress(text.encode(), 9, mtime=0)
    (HERE / name).write_bytes(packed)
    sys.stdout.write(f"{name}: {len(text)} characters, {len(packed)} bytes\n")


if __name__ == "__main__":
    main(sys.argv[1:])
