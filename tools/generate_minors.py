"""Makes `schemas/gotypes/minors.txt`: how the types of older minors differ from the newest's.

Run by hand when a minor is added; never imported by the server:

    pip install kubernetes-validate
    python tools/generate_minors.py [FOLDER-OF-JSON-SCHEMAS]
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import generate_types as types

from inkube.schemas import releases

OUT = types.HERE / "minors.txt"
HEAD = """\
# What the types of older minors have otherwise than those of the newest, made from the OpenAPI
# documents of Kubernetes by tools/generate_minors.py:
#   types RANGE     types that are there in these minors only
#   fields RANGE    fields, the same
#   required RANGE, optional RANGE   fields that were one and are the other now
#   node RANGE      a field, or a type that is gone, as JSON
#   emitted RANGE   as in facts.txt; these are told by no document and stand in that program
"""
BY_HAND = {"emitted ..1.33": ["meta.v1.ObjectMeta creationTimestamp"]}
"""Go's `omitzero`, which omits unset times, exists since 1.34."""
Nodes = dict[str, dict[str, Any]]


def main(arguments: list[str]) -> None:
    """Write the file next to the types."""
    folder = Path(arguments[0]) if arguments else types.package_folder()
    minors = [each.minor for each in releases.RECORDED]
    sources = {minor: _read(folder, minor) for minor in minors}
    names = sorted({name for source in sources.values() for name in types.reachable(source)})
    by_minor = {
        minor: {name: types.structure(name, source[name]) for name in names if name in source}
        for minor, source in sources.items()
    }
    sections: dict[str, list[str]] = {name: [*lines] for name, lines in BY_HAND.items()}
    for name in names:
        for section, text in _differences(name, by_minor):
            sections.setdefault(section, []).append(text)
    blocks = ["\n".join((section, *sorted(sections[section]))) for section in sorted(sections)]
    OUT.write_text("\n\n".join((HEAD.rstrip(), *blocks)) + "\n")


def _read(folder: Path, minor: int) -> Nodes:
    path = folder / f"v1.{minor}.0-local" / "_definitions.json"
    found: Nodes = json.loads(path.read_text())["$defs"]
    return found


def _differences(name: str, by_minor: dict[int, Nodes]) -> Iterator[tuple[str, str]]:
    """Yield lines and the sections to which they belong."""
    newest = max(by_minor)
    there = [minor for minor in by_minor if name in by_minor[minor]]
    short = ".".join(name.split(".")[-3:])
    if newest not in there:
        node = json.dumps(by_minor[there[-1]][name], sort_keys=True)
        yield f"node {_span(there, by_minor)}", f"{name} {node}"
        return
    if there[0] != min(by_minor):
        yield f"types {_span(there, by_minor)}", short
    today = by_minor[newest][name]
    fields = {f for minor in there for f in by_minor[minor][name].get("properties", {})}
    for field in sorted(fields):
        nodes = {
            minor: by_minor[minor][name]["properties"][field]
            for minor in there
            if field in by_minor[minor][name].get("properties", {})
        }
        span = list(nodes)
        if newest in nodes and span != there:
            yield f"fields {_span(span, by_minor)}", f"{short} {field}"
        odd = [minor for minor in span if nodes[minor] != nodes.get(newest)]
        if odd:
            text = json.dumps(nodes[odd[-1]], sort_keys=True)
            yield f"node {_span(odd, by_minor)}", f"{short}.{field} {text}"
        is_required = field in today.get("required", ())
        turned = [
            minor
            for minor in span
            if newest in nodes
            and (field in by_minor[minor][name].get("required", ())) is not is_required
        ]
        if turned:
            word = "optional" if is_required else "required"
            yield f"{word} {_span(turned, by_minor)}", f"{short} {field}"


def _span(minors: list[int], by_minor: dict[int, Nodes]) -> str:
    """Return the range of minors: `..1.33` for [31, 32, 33]."""
    first = "" if minors[0] == min(by_minor) else f"1.{minors[0]}"
    last = "" if minors[-1] == max(by_minor) else f"1.{minors[-1]}"
    return f"{first}..{last}"


if __name__ == "__main__":
    main(sys.argv[1:])
