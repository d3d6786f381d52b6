"""Comments that a client lost are restored at their fields; nothing else in the text changes."""

import re

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from inkube.controllers.porch.files import comments, documents

STORED = """\
# the whole
apiVersion: v1 # version
kind: ConfigMap
metadata: # kpt-merge: a/b
  name: b
  # why here
  namespace: a
data:
  # about x
  x: "1" # kpt-set: ${x}
  y: |
    text # no comment
  url: http://a#b   # spaced
  # below data
ports:
# first
- name: web # n
  port: 1   # p
- name: api
  port: 2
tags:
- red # kpt-set: ${color}
flow: {a: 1} # f
# end
"""
SENT = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: b, namespace: a}
data:
    url: 'http://a#b'
    x: "2"
    y: |
        text # no comment
    z: new
ports:
  - port: 2
    name: api
  - port: 3
    name: web
tags:
  - blue
  - red
flow:
  a: 1
"""
HEALED = """\
# the whole
apiVersion: v1 # version
kind: ConfigMap
metadata: {name: b, namespace: a} # kpt-merge: a/b
data:
    url: 'http://a#b'   # spaced
    # below data
    # about x
    x: "2" # kpt-set: ${x}
    y: |
        text # no comment
    z: new
ports:
  - port: 2
    name: api
  # first
  - port: 3   # p
    name: web # n
tags:
  - blue
  - red # kpt-set: ${color}
flow: # f
  a: 1
# end
"""


def restored(sent, stored=STORED):
    return comments.restore({"a.yaml": sent}, {"a.yaml": stored})["a.yaml"]


def test_each_comment_stands_at_its_field_again():
    assert restored(SENT) == HEALED


def test_what_has_its_comments_stays_as_it_is():
    for text in (STORED, HEALED, f"{STORED}more: 1\n"):
        assert restored(text) == text


def test_a_comment_that_moved_or_changed_is_not_doubled():
    sent = STORED.replace("  # about x\n", "  new: 1\n").replace("data:\n", "data:\n  # about x\n")
    sent = sent.replace("# version", "# another")
    assert restored(sent) == sent


@pytest.mark.parametrize(
    "sent",
    [
        SENT.replace("name: b,", "name: other,"),
        SENT.replace("apiVersion: v1", "apiVersion: v2"),
        SENT + "t: 1 #@ template\n",
        SENT.replace("\n", "\r\n"),
        "[", "", "- a\n", "# only this\n",
    ],
)  # fmt: skip
def test_other_objects_templates_and_what_is_no_object_stay(sent):
    assert restored(sent) == sent


def test_a_stored_template_gives_no_comments():
    assert restored(SENT, f"{STORED}t: 1 #! template\n") == SENT


def test_objects_are_known_in_other_files_and_among_other_documents():
    separators = f"--- # first\n{SENT}---\n\n---\nx: 1\n"
    made = comments.restore({"b.yaml": separators, "c.txt": SENT}, {"a.yaml": STORED})
    assert made == {"b.yaml": separators.replace(SENT, HEALED), "c.txt": SENT}


def test_a_document_without_its_last_line_end_keeps_it_so():
    text = "apiVersion: v1\nkind: A\nx: 1"
    assert restored(text, "apiVersion: v1\nkind: A\n# h\nx: 1 # l") == f"{text[:-4]}# h\nx: 1 # l"


def test_deep_texts_and_aliases_are_read_without_a_stack():
    deep = "apiVersion: v1\nkind: A\nx: " + "[" * 200 + "]" * 200
    assert restored(deep, f"{deep} # c\n") == f"{deep} # c"
    shared = "apiVersion: v1\nkind: A\na: &a {b: 1}\nc: *a\n"
    assert restored(shared, shared.replace("*a", "*a # c")) == shared.replace("*a", "*a # c")


words = st.sampled_from(["a", "b c", "#", "x # y", "http://z#", "1", "", "multi\nline # no\n", "'"])
names = st.sampled_from(["a", "b", "name", "c d", "#e"])
values = st.recursive(
    words | st.integers(0, 9) | st.none(),
    lambda inner: (
        st.dictionaries(names, inner, max_size=3)
        | st.lists(st.fixed_dictionaries({"name": names, "v": inner}), max_size=2)
        | st.lists(words, max_size=2)
    ),
    max_leaves=12,
)
notes = st.lists(st.sampled_from(["", "", " # l", "# h"]), min_size=40, max_size=40)


@settings(max_examples=200, deadline=None)
@given(values, values, notes)
def test_nothing_but_comments_is_added_and_a_second_time_nothing(stored, sent, marks):
    """Without its restored comments, the text is the one that was sent."""
    head = {"apiVersion": "v1", "kind": "A"}
    old = yaml.safe_dump({**head, "x": stored}, sort_keys=False)
    noted = []
    for at, line in enumerate(old.splitlines()):
        mark = marks[at % len(marks)]
        noted += [f"# h{at}", line] if mark == "# h" else [f"{line}{mark and f' # l{at}'}"]
    text = yaml.safe_dump({**head, "x": sent}, sort_keys=False)
    made = restored(text, "\n".join(noted) + "\n")
    assert documents.parse(made) == documents.parse(text)
    kept = [line for line in made.split("\n") if not re.fullmatch(r" *# h\d+", line)]
    assert [re.sub(r" # l\d+$", "", line) for line in kept] == text.split("\n")
    assert restored(made, "\n".join(noted) + "\n") == made
