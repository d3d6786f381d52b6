"""Facts that the table shares with other files are the same there.

OpenAPI documents describe enumerations by Go type (`enums.json`), since they also need the texts of
the values; `types.json` has the defaults of OpenAPI. Both come from upstream's documents, and the
table from upstream's validation, so a difference is an error in one of them.
"""

import json
from collections.abc import Iterator
from typing import Any

from inkube.schemas import releases
from inkube.schemas.builtin.rules import shapes, table
from inkube.schemas.builtin.rules.table import Line, Word
from inkube.schemas.gotypes import table as gotypes
from inkube.schemas.openapi import enums

NOT_ACCEPTED = {
    ("admissionregistration.v1.MutatingWebhook", "sideEffects"): {"Some", "Unknown"},
    ("admissionregistration.v1.ValidatingWebhook", "sideEffects"): {"Some", "Unknown"},
    ("storage.v1.StorageClass", "reclaimPolicy"): {"Recycle"},
}
"""Values of a Go type that a field of this type does not accept."""


def lines(word: str, minor: int) -> Iterator[tuple[str, Line, Word]]:
    """Yield the lines for fields of a type with a word, with the name of the type."""
    for file in sorted(table.FOLDER.glob("*.rules")):
        for paragraph in table.read(file.read_text(), file.name):
            if not table.holds(paragraph.words, minor):
                continue
            name = shapes.short_name(paragraph.type.partition("/")[0])
            for line in paragraph.lines(minor):
                found = line.find(word)
                if found is not None and len(line.path) == 1:
                    yield name, line, found


def test_documents_and_the_table_have_the_same_enumerations() -> None:
    accepted: dict[tuple[str, str], set[str]] = {}
    for name, line, word in lines("enum", releases.NEWEST.minor):
        accepted.setdefault((name, line.path[0]), set()).update(word.value.split("|"))
    compared = 0
    for (name, field), values in accepted.items():
        documented = enums.of_type(shapes.full_name(name)).get(field)
        if documented is not None:
            compared += 1
            assert values == set(documented) - NOT_ACCEPTED.get((name, field), set()), (name, field)
    assert compared > 50


def test_documents_and_the_table_have_the_same_defaults() -> None:
    known: Any = gotypes.table().types
    compared = 0
    for name, line, word in lines("default", releases.NEWEST.minor):
        field = known[shapes.full_name(name)]["properties"][line.path[0]]
        if "default" not in field or word.value.startswith("@"):
            continue
        if field["default"] in ("", 0) and field.get("x-go") == "emitted":  # Go's zero value
            continue
        compared += 1
        given = field["default"]
        assert word.value in (given, json.dumps(given)), line.location
    assert compared


def test_no_paragraph_stands_in_the_table_twice() -> None:
    for minor in (release.minor for release in releases.RECORDED):
        seen = set()
        for file in sorted(table.FOLDER.glob("*.rules")):
            for paragraph in table.read(file.read_text(), file.name):
                if table.holds(paragraph.words, minor):
                    key = (paragraph.type, paragraph.occasion)
                    assert key not in seen, f"{file.name}: {key}"
                    seen.add(key)
