"""Values are printed and compared in the form of kube-apiserver's internal types."""

import json
import re
from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inkube.schemas import releases
from inkube.schemas.gotypes import internal, types
from inkube.schemas.gotypes.types import GoType

SAMPLES: dict[str, Any] = {
    "bool": True, "int32": 5, "int64": 6, "float": 1.5, "quantity": "5Gi", "intstr": "10%",
    "time": "2026-01-01T00:00:00Z", "microtime": "2026-01-01T00:00:00.000000Z", "bytes": "AAEC",
    "raw": {"z": 1, "a": {}}, "json": {"z": 1},
}  # fmt: skip
NOT_INTERNAL = {
    "core.PodSpec": {"serviceAccount"},
    "core.PodTemplateSpec": {"spec.serviceAccount"},
    "core.PersistentVolumeSource": {
        "accessModes", "capacity", "claimRef", "mountOptions", "nodeAffinity",
        "persistentVolumeReclaimPolicy", "storageClassName", "volumeAttributesClassName",
        "volumeMode",
    },
}  # fmt: skip
"""Fields of v1 that internal types do not have."""
MINORS = {"core.WorkloadReference": 35}
"""The minors of types that the newest minor does not have."""
HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@\n")


def sample(go: GoType, path: str = "", without: frozenset[str] = frozenset()) -> Any:
    """Return a v1 value with every field set; each text is its own path."""
    if go.kind == "struct":
        members = {key: f"{path}.{key}".lstrip(".") for key in go.fields}
        return {
            key: sample(go.fields[key].type, place, without)
            for key, place in members.items()
            if place not in without
        }
    if go.item is not None:
        inner = sample(go.item, path, without)
        return [inner] if go.kind == "list" else {"b": inner, "a": inner}
    return SAMPLES.get(go.kind, path)


def leaves(value: Any) -> list[Any]:
    """Return the texts, numbers and flags of a value, in any order."""
    if isinstance(value, dict):
        return [leaf for each in value.values() for leaf in leaves(each)]
    if isinstance(value, list):
        return [leaf for each in value for leaf in leaves(each)]
    return [value]


@pytest.mark.parametrize("name", sorted(internal.names()))
def test_every_value_that_v1_has_is_printed_once(name):
    without = frozenset(NOT_INTERNAL.get(name, ()))
    minor = MINORS.get(name, releases.NEWEST.minor)
    full = sample(types.of(internal.v1_name(name), minor), without=without)
    printed = internal.view(name, full, minor)
    if name == "core.PodSecurityContext":
        printed = {key: value for key, value in printed.items() if value}  # the pod spec has them
    assert Counter(map(json.dumps, leaves(printed))) == Counter(map(json.dumps, leaves(full)))
    assert json.loads(internal.text(name, full, minor)) == internal.view(name, full, minor)


@pytest.mark.parametrize("name", sorted(internal.names()))
def test_the_order_does_not_depend_on_what_was_given(name):
    minor = MINORS.get(name, releases.NEWEST.minor)
    full = internal.view(name, sample(types.of(internal.v1_name(name), minor)), minor)
    empty = list(internal.view(name, {}, minor))
    assert empty == [key for key in full if key in empty]


def test_a_pod_spec_shows_names_of_go_and_zeros_of_unset_fields():
    shown = internal.view("core.PodSpec", {"containers": [{"name": "c"}], "hostNetwork": True})
    assert shown["Containers"][0]["Resources"] == {"Limits": None, "Requests": None, "Claims": None}
    assert shown["SecurityContext"]["HostNetwork"] is True
    assert shown["Volumes"] is None
    assert list(shown)[:3] == ["Volumes", "InitContainers", "Containers"]


def test_embedded_metadata_stands_among_the_fields_and_leaves_out_what_is_empty():
    shown = internal.text("core.PodTemplateSpec", {"metadata": {"labels": {"b": "1", "a": "<"}}})
    assert shown.startswith('{"labels":{"a":"\\u003c","b":"1"},"Spec":{"Volumes":null')


def test_a_type_that_nobody_described_is_an_error():
    with pytest.raises(KeyError):
        internal.text("core.NoSuchType", {})


def test_a_diff_has_three_lines_of_context_and_no_names_of_files():
    old, new = ({"claimName": "c", "readOnly": flag} for flag in (False, True))
    assert internal.diff("core.PersistentVolumeClaimVolumeSource", old, new) == (
        '@@ -1,4 +1,4 @@\n {\n  "ClaimName": "c",\n- "ReadOnly": false\n+ "ReadOnly": true\n }\n'
    )
    assert internal.diff("core.PersistentVolumeClaimVolumeSource", old, old) == ""


def patched(before: list[str], hunks: str) -> list[str]:
    """Return a text with a unified diff applied; every context line must match."""
    made: list[str] = []
    at = 0
    for line in hunks.splitlines(keepends=True):
        header = HUNK.fullmatch(line)
        if header is not None:
            length = header[2]
            start = int(header[1]) - (length != "0")
            made += before[at:start]
            at = start
        elif line.startswith("+"):
            made.append(line[1:])
        else:
            assert before[at] == line[1:]
            if line.startswith(" "):
                made.append(before[at])
            at += 1
    return made + before[at:]


LINES = st.lists(st.sampled_from(["a\n", "b\n", "c\n", "{\n", "}\n"]), max_size=30)


@pytest.mark.parametrize("most", [4_000, 0], ids=["compared", "too long to compare"])
@settings(max_examples=200, deadline=None)
@given(before=LINES, after=LINES)
def test_a_diff_applied_to_the_old_text_gives_the_new_one(most, before, after):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(internal, "MAX_COMPARED", most)
        hunks = internal.unified(before, after)
    assert patched(before, hunks) == after
    assert (hunks == "") == (before == after)


def test_the_difference_of_very_long_texts_is_one_hunk():
    before = [f"{number}\n" for number in range(internal.MAX_COMPARED + 1)]
    after = [*before[:10], "x\n", *before[11:]]
    assert internal.unified(before, after) == (
        "@@ -8,7 +8,7 @@\n 7\n 8\n 9\n-10\n+x\n 11\n 12\n 13\n"
    )
