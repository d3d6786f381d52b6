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
    assert found[2].place_of("kind").line == 16


def test_json_may_hold_several_documents():
    found = documents.split("f", b'{"a": 1}\n\n{"b":\n [{}, {"c": 2}]}\n')
    assert [(document.line, document.media) for document in found] == [(1, "json"), (3, "json")]
    assert found[1].place_of("b[1].c").line == 4
    assert documents.split("f", b"{a: [b}")[0].media == "yaml"


PLACES = {
    "apiVersion": 3,
    "metadata.annotations.a.b/c": 6,
    "metadata.annotations[a.b/c]": 6,
    "metadata.labels": 4,
    "spec.items[0]": 9,
    "spec.items[0].sizes[1]": 11,
    "spec.items[7].sizes": 8,
    "nowhere": 3,
    "": 3,
}


@pytest.mark.parametrize(("path", "line"), PLACES.items(), ids=PLACES)
def test_a_field_stands_on_a_line(path, line):
    assert documents.split("f", YAML)[0].place_of(path).line == line


def test_what_cannot_be_read_begins_somewhere():
    (document,) = documents.split("f", b"\n\na: [")
    assert document.place_of("a").line == 3


LONG = b"""\
base: &base
  a: 1
  b: {c: [x, yy]}
copy:
  <<: *base
  d: "text" # comment
"""


@pytest.mark.parametrize(
    ("path", "on_key", "place"),
    [
        ("copy.d", False, (6, 6, 6, "text")),
        ("copy.d", True, (6, 3, 1, "")),
        ("copy.a", False, (2, 6, 1, "1")),
        ("base.b.c[1]", False, (3, 14, 2, "yy")),
        ("base.b", False, (3, 3, 1, "")),
        ("base.b.missing", False, (3, 3, 1, "")),
    ],
)
def test_a_scalar_has_the_place_of_its_value_and_others_that_of_their_name(path, on_key, place):
    (document,) = documents.split("f", LONG)
    assert document.place_of(path, on_key=on_key) == place


def test_a_comment_behind_a_value_is_about_its_line_and_another_one_about_the_document():
    (document,) = documents.split("f", b"a: 1  # inkube: ignore[x]\nb: 2\n# inkube: ignore[y, z]\n")
    assert [document.ignores("x", line) for line in (1, 2)] == [True, False]
    assert [document.ignores(code, 2) for code in "yzw"] == [True, True, False]


def test_a_template_names_its_source():
    text = b"---\n# Source: web/templates/a.yaml\na: 1\n---\nb: 1\n"
    assert [each.source for each in documents.split("f", text)] == ["web/templates/a.yaml", ""]
