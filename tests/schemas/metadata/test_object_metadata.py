"""metadata: decoding, validation, and allowed changes."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inkube.schemas.golang.unmarshal import DecodeError
from inkube.schemas.gotypes import decoding, types
from inkube.schemas.metadata import metadecoding, names, objectmeta

Meta = dict[str, Any]
OWNER = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u"}


def texts(meta: Meta, *, namespaced: bool = False) -> list[str]:
    base = {"name": "a", **({"namespace": "n"} if namespaced else {})}
    found = objectmeta.validate({**base, **meta}, namespaced=namespaced, name_check=names.subdomain)
    return [error.text() for error in found]


@pytest.mark.parametrize(
    ("meta", "expected"),
    [
        ({"labels": {}, "annotations": None, "finalizers": [], "generation": 0}, {}),
        ({"labels": {"a": None}}, {"labels": {"a": ""}}),
        ({"creationTimestamp": "2024-01-02T03:04:05.678+01:00"},
         {"creationTimestamp": "2024-01-02T02:04:05Z"}),
        ({"deletionGracePeriodSeconds": 0}, {"deletionGracePeriodSeconds": 0}),
        ({"ownerReferences": [{"name": "p", "controller": False}]},
         {"ownerReferences": [
             {"apiVersion": "", "kind": "", "name": "p", "uid": "", "controller": False}]}),
    ],
)  # fmt: skip
def test_metadata_is_written_back_as_go_does(meta: Meta, expected: Meta) -> None:
    assert metadecoding.decode(meta, []) == expected


def test_unknown_members_are_named_and_dropped() -> None:
    unknown: list[str] = []
    owner = {**OWNER, "mood": 1}

    decoded = metadecoding.decode({"x": 1, "name": "a", "ownerReferences": [owner]}, unknown)

    assert decoded == {"name": "a", "ownerReferences": [OWNER]}
    assert unknown == ["metadata.ownerReferences[0].mood", "metadata.x"]


@pytest.mark.parametrize(
    ("meta", "text"),
    [
        ("a", "string into Go value of type v1.ObjectMeta"),
        ({"name": 1}, "number into Go struct field ObjectMeta.name of type string"),
        ({"uid": []}, "array into Go struct field ObjectMeta.uid of type types.UID"),
        ({"labels": []}, "array into Go struct field ObjectMeta.labels of type map[string]string"),
        ({"labels": {"a": True}}, "bool into Go struct field ObjectMeta.labels of type string"),
        ({"finalizers": [{}]}, "object into Go struct field ObjectMeta.finalizers of type string"),
        (
            {"ownerReferences": [{"uid": 1}]},
            "number into Go struct field OwnerReference.ownerReferences.uid of type types.UID",
        ),
        (
            {"ownerReferences": [5]},
            "number into Go struct field ObjectMeta.ownerReferences of type v1.OwnerReference",
        ),
        (
            {"generation": 1.5},
            "number 1.5 into Go struct field ObjectMeta.generation of type int64",
        ),
        (
            {"creationTimestamp": 5},
            "number into Go struct field ObjectMeta.creationTimestamp of type string",
        ),
        ({"name": 1, "labels": 1}, "number into Go struct field ObjectMeta.labels of type"),
    ],
)
def test_members_of_a_wrong_type_are_refused(meta: Any, text: str) -> None:
    with pytest.raises(DecodeError) as refused:
        metadecoding.decode(meta, [])

    assert refused.value.text.startswith(f"json: cannot unmarshal {text}")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("yesterday", ' as "2006-01-02T15:04:05Z07:00": cannot parse "yesterday" as "2006"'),
        ("2024-01-02", ' as "2006-01-02T15:04:05Z07:00": cannot parse "" as "T"'),
        ("2024-13-02T00:00:00Z", ": month out of range"),
        ("2024-02-30T00:00:00Z", ": day out of range"),
        ("2024-02-03T00:00:00Zx", ': extra text: "x"'),
        ("0001-01-01T00:00:00+10:00", ": year out of range"),
        ("9999-12-31T23:59:59-10:00", ": year out of range"),
    ],
)
def test_a_time_that_is_none_is_refused_as_go_does(text: str, why: str) -> None:
    with pytest.raises(DecodeError) as refused:
        metadecoding.decode({"creationTimestamp": text}, [])

    assert refused.value.text == f'parsing time "{text}"{why}'


def test_a_year_has_four_digits() -> None:
    decoded = metadecoding.decode({"creationTimestamp": "0001-01-01T10:00:01+10:00"}, [])

    assert decoded == {"creationTimestamp": "0001-01-01T00:00:01Z"}


@pytest.mark.parametrize(
    ("meta", "expected"),
    [
        ({"name": ""}, "metadata.name: Required value: name or generateName is required"),
        ({"name": "A"}, 'metadata.name: Invalid value: "A": a lowercase RFC 1123 subdomain must'),
        ({"name": "a" * 254}, "must be no more than 253 characters"),
        (
            {"generateName": "a."},
            'metadata.generateName: Invalid value: "a.": a lowercase RFC 1123',
        ),
        ({"namespace": "n"}, "metadata.namespace: Forbidden: not allowed on this type"),
        ({"generation": -1}, "must be greater than or equal to 0"),
        (
            {"labels": {"a/b/c": ""}},
            'metadata.labels: Invalid value: "a/b/c": a valid label key must',
        ),
        ({"labels": {"/a": ""}}, "prefix part must be non-empty"),
        ({"labels": {"a": "x" * 64}}, "must be no more than 63 bytes"),
        (
            {"annotations": {"a b": ""}},
            'metadata.annotations: Invalid value: "a b": name part must',
        ),
        ({"annotations": {"a": "x" * 262144}}, "Too long: may not be more than 262144 bytes"),
        ({"finalizers": ["a b"]}, 'metadata.finalizers: Invalid value: "a b": name part must'),
        (
            {"finalizers": ["orphan", "foregroundDeletion"]},
            "finalizer orphan and foregroundDeletion cannot be both set",
        ),
        (
            {"ownerReferences": [{**OWNER, "uid": ""}]},
            'metadata.ownerReferences.uid: Invalid value: "": must not be empty',
        ),
        (
            {"ownerReferences": [{**OWNER, "kind": "Event"}]},
            (
                'Invalid value: {"apiVersion":"v1","kind":"Event","name":"p","uid":"u"}: '
                "/v1, Kind=Event is disallowed from being an owner"
            ),
        ),
        (
            {"ownerReferences": [{**OWNER, "controller": True}] * 2},
            'Found "true" in references for Pod/p and Pod/p',
        ),
        ({"managedFields": [{"operation": "x"}]}, "must be `Apply` or `Update`"),
        (
            {"managedFields": [{"operation": "Apply", "manager": "a\nb"}]},
            "invalid character U+000A (at position 1)",
        ),
    ],
)
def test_what_may_not_stand_in_metadata(meta: Meta, expected: str) -> None:
    (found,) = texts(meta)

    assert expected in found


def test_good_metadata_passes() -> None:
    meta = {
        "generateName": "a-",
        "labels": {"example.com/A": "b", "c": ""},
        "annotations": {"UPPER.example/x": "any thing"},
        "finalizers": ["example.com/hold"],
        "ownerReferences": [{**OWNER, "controller": True}, OWNER],
    }

    assert texts(meta, namespaced=True) == []


def test_an_update_repeats_what_upstream_repeats() -> None:
    old = {"name": "a", "uid": "u", "resourceVersion": "1"}
    new = {**old, "uid": "v", "labels": {"a": "b c"}, "finalizers": ["x y"]}

    found = objectmeta.validate_update(new, old, namespaced=False)

    fields = [error.field for error in found]
    assert fields.count("metadata.labels") == 3
    assert fields.count("metadata.uid") == 2
    assert fields.count("metadata.finalizers") == 1


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"resourceVersion": ""}, 'Invalid value: "": must be specified for an update'),
        ({"generation": 1}, "Invalid value: 1: must not be decremented"),
        ({"name": "b"}, 'Invalid value: "b": field is immutable'),
        ({"creationTimestamp": None}, "Invalid value: null: field is immutable"),
        ({"finalizers": ["a/b", "n/w"]}, 'found new finalizers []string{"n/w"}'),
    ],
)
def test_immutable_metadata_is_refused_on_updates(change: Meta, expected: str) -> None:
    old = {
        "name": "a",
        "resourceVersion": "1",
        "generation": 2,
        "creationTimestamp": "2024-01-01T00:00:00Z",
        "deletionTimestamp": "2024-01-02T00:00:00Z",
        "finalizers": ["a/b"],
    }

    (error,) = objectmeta.validate_changes({**old, **change}, old)

    assert expected in error.text()


def test_added_finalizers_without_a_domain_draw_a_warning() -> None:
    meta = {"finalizers": ["old", "hold", "example.com/x", "orphan"]}

    (warning,) = objectmeta.finalizer_warnings(meta, {"finalizers": ["old"]})

    assert warning.startswith('metadata.finalizers: "hold": prefer a domain-qualified')


@pytest.mark.parametrize(
    ("check", "name", "good"),
    [
        (names.subdomain, "a.b-c", True),
        (names.label, "a.b", False),
        (names.label_1035, "1a", False),
        (names.path_segment, "System:Any", True),
        (names.path_segment, "a/b", False),
        (names.path_segment, "..", False),
    ],
)
def test_kinds_differ_in_what_is_a_name(check: names.Check, name: str, good: bool) -> None:
    assert (check(name, False) == []) is good


_TEXTS = st.one_of(st.sampled_from(["", "a"]), st.none(), st.integers(0, 1))
_TIMES = st.sampled_from(
    ["2026-01-02T03:04:05Z", "2026-01-02T03:04:05.5Z", "0001-01-01T00:00:00Z", "yesterday", ""]
)
_ENTRIES = st.dictionaries(
    st.sampled_from(("manager", "operation", "subresource", "time", "fieldsV1", "odd")),
    st.one_of(_TEXTS, _TIMES, st.just({}), st.just({"f:spec": {}})),
)
_ANYTHING = st.one_of(
    _TEXTS,
    _TIMES,
    st.sampled_from([-1, 2**63 - 1, 2**63, True, 1.5]),
    st.dictionaries(st.sampled_from("ab"), _TEXTS),
    st.lists(_TEXTS),
    st.lists(_ENTRIES),
)
_MEMBERS = (
    "name", "namespace", "labels", "annotations", "finalizers", "uid", "odd",
    "generation", "creationTimestamp", "deletionTimestamp", "managedFields",
)  # fmt: skip


def _in_order(value: Any) -> Any:
    """Sort the members at every depth, as Go does before it decodes the struct: the first wrong
    member in this order is the error."""
    if isinstance(value, dict):
        return {name: _in_order(value[name]) for name in sorted(value)}
    return [_in_order(item) for item in value] if isinstance(value, list) else value


@settings(max_examples=1_000)
@given(st.dictionaries(st.sampled_from(_MEMBERS), _ANYTHING))
def test_the_short_way_reads_what_the_long_one_does(meta: Meta):
    def long_way(value: Meta) -> Any:
        found = decoding.decode(types.of(metadecoding._TYPE), value, "metadata")
        return found.object, found.unknown

    def short_way(value: Meta) -> Any:
        unknown: list[str] = []
        return metadecoding.decode(value, unknown), unknown

    def outcome(way: Any) -> Any:
        try:
            return way(_in_order(meta))
        except DecodeError as error:
            return error.text

    assert outcome(short_way) == outcome(long_way)
