"""Files are split into documents, and fields are found at their lines."""

import pytest

from inkube.schemas import documents

YAML = b"""# what is this
---
apiVersion: v1
metadata:
  annotations:
    a.b/c: x
spec:
  items:
  - name: a
    sizes: [1,
      2]
--- {a: 1}
---
# nothing
---
kind: B
"""


def test_yaml_is_cut_at_its_separators():
    found = documents.split("f", YAML)
    assert [(document.number, document.line) for document in found] == [(1, 2), (2, 12), (3, 15)]
    assert found[1].body.strip() == b"{a: 1}"
    assert found[2].line_of("kind") == 16


def test_json_may_hold_several_documents():
    found = documents.split("f", b'{"a": 1}\n\n{"b":\n [{}, {"c": 2}]}\n')
    assert [(document.line, document.media) for document in found] == [(1, "json"), (3, "json")]
    assert found[1].line_of("b[1].c") == 4
    assert documents.split("f", b"{a: [b}")[0].media == "yaml"


PLACES = {
    "apiVersion": 3,
    "metadata.annotations.a.b/c": 6,
    "metadata.annotations[a.b/c]": 6,
    "metadata.labels": 4,
    "spec.items[0]": 9,
    "spec.items[0].sizes[1]": 11,
    "spec.items[7].sizes": 8,
    "nowhere": 2,
    "": 2,
}


@pytest.mark.parametrize(("path", "line"), PLACES.items(), ids=PLACES)
def test_a_field_stands_on_a_line(path, line):
    assert documents.split("f", YAML)[0].line_of(path) == line


def test_what_cannot_be_read_begins_somewhere():
    (document,) = documents.split("f", b"\n\na: [")
    assert document.line_of("a") == 1
