"""Upgrades: properties of the three-way merge, and how each strategy treats local changes."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inkube.controllers.porch.files import documents, merge, packages
from inkube.controllers.porch.files.kptfile import Upstream

PLACE = Upstream("https://example.com/up.git", "base", "base/v1", "0" * 40)
names = st.sampled_from(["a", "b", "c"])
scalars = st.one_of(st.integers(0, 3), st.sampled_from(["x", "y", "true", ""]), st.booleans())
items = st.lists(
    st.builds(lambda n, v: {"name": n, "image": v}, names, st.sampled_from(["i:1", "i:2"])),
    unique_by=lambda item: item["name"],
    max_size=3,
)
values = st.recursive(
    scalars, lambda inner: st.dictionaries(names, inner, min_size=1, max_size=3), max_leaves=6
)
bodies = st.fixed_dictionaries(
    {},
    optional={
        "data": st.dictionaries(names, values, min_size=1, max_size=3),
        "spec": st.fixed_dictionaries({"containers": items}),
        "list": st.lists(scalars, max_size=3),
    },
)


@st.composite
def package(draw):
    """A random package: a Kptfile, some objects in two files, a text."""
    made = {
        "Kptfile": documents.dump(
            {
                "apiVersion": "kpt.dev/v1",
                "kind": "Kptfile",
                "metadata": {"name": "p"},
                "info": {"description": draw(st.sampled_from(["one", "two"]))},
            }
        ),
        "README.md": draw(st.sampled_from(["first\n", "second\n"])),
    }
    placed = {}
    for name in draw(st.lists(names, unique=True, max_size=3)):
        body = draw(bodies)
        obj = {"apiVersion": "v1", "kind": "Thing", "metadata": {"name": name}, **body}
        placed.setdefault(draw(st.sampled_from(["one.yaml", "two.yaml"])), []).append(obj)
    for file, objects in placed.items():
        made[file] = documents.join(documents.dump(obj) for obj in objects)
    return made


def values_of(files):
    """Return the content of a package: objects by identity, other files by name."""
    found = {documents.identity(each.value): each.value for each in documents.read(files)}
    texts = {name: text for name, text in files.items() if not documents.is_yaml(name)}
    return found, texts


@settings(max_examples=25, deadline=None)
@given(package(), package())
def test_what_was_not_changed_here_becomes_what_upstream_is(original, new):
    merged = merge.merge(original, new, original)
    assert values_of(merged.files) == values_of(new)
    assert merged.conflicts == []


@settings(max_examples=25, deadline=None)
@given(package(), package())
def test_what_upstream_did_not_change_stays_byte_for_byte(original, local):
    merged = merge.merge(original, original, local)
    assert merged.files == local
    assert merged.conflicts == []


@settings(max_examples=25, deadline=None)
@given(package(), package())
def test_a_clone_nobody_touched_becomes_the_new_upstream(original, new):
    local = packages.cloned_package(original, "mine", PLACE)
    merged = merge.merge(original, new, local).files
    found, texts = values_of(merged)
    wanted, wanted_texts = values_of(new)
    del found["kpt.dev", "Kptfile", "", "mine"], wanted["kpt.dev", "Kptfile", "", "p"]
    assert {key: packages.unmarked(value) for key, value in found.items()} == wanted
    assert texts == wanted_texts


@settings(max_examples=25, deadline=None)
@given(package(), package(), package())
def test_a_merge_is_a_package_and_merging_again_changes_nothing(original, new, local):
    merged = merge.merge(original, new, local)
    assert not list(packages.wrong_with(merged.files))
    assert values_of(merge.merge(new, new, merged.files).files) == values_of(merged.files)


THING = """apiVersion: v1
kind: ConfigMap
metadata: # kpt-merge: /thing
  name: thing
data:
  a: "1" # first
  b: "2"
"""


def files(thing=THING, **more):
    head = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: p\n"
    return {"Kptfile": head, "thing.yaml": thing, **more}


def test_upstream_wins_where_both_changed_with_a_conflict():
    merged = merge.merge(
        files(), files(THING.replace('"1"', '"3"')), files(THING.replace('"1"', '"4"'))
    )
    assert merged.files["thing.yaml"] == THING.replace('"1"', '"3"')
    assert merged.conflicts == ["thing.yaml: data.a"]


def test_changes_of_different_fields_meet_and_comments_stay():
    merged = merge.merge(
        files(), files(THING.replace('"1"', '"3"')), files(THING.replace('"2"', '"5"'))
    )
    assert merged.files["thing.yaml"] == THING.replace('"1"', '"3"').replace('"2"', '"5"')
    assert merged.conflicts == []


def test_objects_removed_upstream_are_removed_unless_they_were_changed_here():
    new = files()
    del new["thing.yaml"]
    assert "thing.yaml" not in merge.merge(files(), new, files()).files
    kept = merge.merge(files(), new, files(THING.replace('"2"', '"5"')))
    assert '"5"' in kept.files["thing.yaml"]
    assert kept.conflicts == ["thing.yaml: ConfigMap/thing"]


def test_objects_removed_here_stay_removed():
    local = files()
    del local["thing.yaml"]
    new = files(THING.replace('"1"', '"3"'))
    assert "thing.yaml" not in merge.merge(files(), new, local).files


def test_an_object_that_was_renamed_here_is_known_by_its_identifier():
    local = packages.cloned_package(files(), "mine", PLACE)
    local["thing.yaml"] = local["thing.yaml"].replace("name: thing", "name: ours")
    merged = merge.merge(files(), files(THING.replace('"1"', '"3"')), local).files
    assert re.search(r"name: ours\n", merged["thing.yaml"])
    assert '"3"' in merged["thing.yaml"]


def test_pipelines_merge_by_function():
    def with_pipeline(*functions):
        text = documents.dump(
            {
                "apiVersion": "kpt.dev/v1",
                "kind": "Kptfile",
                "metadata": {"name": "p"},
                "pipeline": {"mutators": list(functions)},
            }
        )
        return {"Kptfile": text}

    namespace = {"image": "set-namespace:v1", "configMap": {"namespace": "a"}}
    newer = {"image": "set-namespace:v1", "configMap": {"namespace": "b"}}
    own = {"image": "set-labels:v1", "configMap": {"team": "x"}}
    merged = merge.merge(
        with_pipeline(namespace), with_pipeline(newer), with_pipeline(namespace, own)
    )
    value = documents.parse(merged.files["Kptfile"])
    assert value["pipeline"]["mutators"] == [newer, own]


def test_fast_forward_takes_the_new_or_names_what_was_changed():
    new = files(THING.replace('"1"', '"3"'))
    clone = packages.cloned_package(files(), "mine", PLACE)
    assert merge.merge(files(), new, clone, "fast-forward").files == new
    local = files(THING.replace('"2"', '"5"'), **{"extra.txt": "x"})
    with pytest.raises(merge.Modified, match=r"extra\.txt, thing\.yaml"):
        merge.merge(files(), new, local, "fast-forward")


def test_replacing_takes_all_of_the_new_and_copying_lays_it_over_the_local():
    new = files(THING.replace('"1"', '"3"'))
    local = files(THING.replace('"2"', '"5"'), **{"extra.txt": "x"})
    assert merge.merge(files(), new, local, "force-delete-replace").files == new
    copied = merge.merge(files(), new, local, "copy-merge").files
    assert copied == {**new, "extra.txt": "x"}
