"""The table of rules is parsed and compiled, and gives the errors of kube-apiserver."""

import pytest

from inkube.schemas.builtin import rules
from inkube.schemas.builtin.rules import compiler, conditions, filling, gates, shapes, table
from inkube.schemas.builtin.rules.frames import Frame
from inkube.schemas.meta import GVK

PARAGRAPHS = [
    paragraph
    for file in sorted(table.FOLDER.glob("*.rules"))
    for paragraph in table.read(file.read_text(), file.name)
]
LEASE = "coordination.v1.LeaseSpec"


def _texts(name, value, old=None):
    return [error.text() for error in rules.errors(name, value, "spec", old)]


@pytest.mark.parametrize("paragraph", PARAGRAPHS, ids=lambda each: f"{each.type} {each.occasion}")
def test_every_paragraph_compiles_in_every_minor(paragraph):
    for minor in range(31, table.NEWEST + 1):
        if table.holds(paragraph.words, minor):
            assert compiler.rules(paragraph.type, paragraph.occasion, minor).steps is not None
    filling.filler(paragraph.type).fill({})
    filling.dropper(paragraph.type).drop({}, None)


def test_an_error_of_a_whole_object_has_a_place():
    # upstream's field.NewPath("") is "[]": no error of a kind has an empty field
    of_objects = 0
    for paragraph in PARAGRAPHS:
        is_kind = "metadata" in shapes.fields(paragraph.type.partition("/")[0])
        for line in paragraph.lines(table.NEWEST) if is_kind else ():
            names = {word.name for word in line.words}
            if line.field == "self" and names & {"forbidden", "invalid", "missing"}:
                of_objects += 1
                assert "at" in names, line.location
    assert of_objects


def test_every_gate_of_the_table_is_known():
    named = {
        word.value
        for paragraph in PARAGRAPHS
        for line in paragraph.lines(table.NEWEST)
        for word in line.words
        if word.name == "gate"
    }
    assert named
    for name in named:
        assert gates.is_on(name, table.NEWEST) in (True, False)


def test_a_line_of_the_table_checks_its_field():
    assert _texts(LEASE, {"leaseDurationSeconds": 0, "leaseTransitions": -1}) == [
        "spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0",
        "spec.leaseTransitions: Invalid value: -1: must be greater than or equal to 0",
    ]


def test_a_condition_limits_a_line():
    texts = _texts(LEASE, {"preferredHolder": "a"})
    assert texts == [
        "spec.preferredHolder: Forbidden: may only be specified if `strategy` is defined"
    ]
    assert _texts(LEASE, {"preferredHolder": "a", "strategy": "example.com/s"}) == []


def test_a_missing_field_is_required_and_nothing_else():
    texts = _texts("storage.v1.VolumeAttachmentSpec", {"source": {"persistentVolumeName": "v"}})
    assert texts[0] == "spec.attacher: Required value"
    assert all("nodeName" in text for text in texts[1:])


def test_errors_of_an_item_have_its_index():
    drivers = [{"name": "a", "nodeID": "n", "topologyKeys": ["", "b", "b"]}]
    errors = rules.errors("storage.v1.CSINodeSpec", {"drivers": drivers}, "spec")
    assert {error.field for error in errors} == {"spec.drivers[0]"}
    assert [error.type.name for error in errors] == ["REQUIRED", "INVALID", "INVALID", "DUPLICATE"]


def test_defaults_leave_what_is_given():
    obj = {"reclaimPolicy": "Retain"}
    rules.fill("storage.v1.StorageClass", obj)
    assert obj == {"reclaimPolicy": "Retain", "volumeBindingMode": "Immediate"}


def test_a_field_of_a_disabled_gate_is_dropped_unless_it_was_stored():
    obj = {"spec": {"strategy": "a/b"}}
    filling.dropper("coordination.v1.Lease").drop(obj, {"spec": {"strategy": "a/c"}})
    assert obj == {"spec": {"strategy": "a/b"}}
    filling.dropper("coordination.v1.Lease").drop(obj, None)
    assert obj == {"spec": {}}


def test_what_changed_is_immutable_only_on_an_update():
    new, old = {"value": 2}, {"value": 1}
    update = compiler.rules("scheduling.v1.PriorityClass", "update")
    errors = update.run(Frame(new, "", old, None, updates=True))
    assert [error.text() for error in errors] == [
        "value: Forbidden: may not be changed in an update."
    ]
    assert update.run(Frame(old, "", old, None, updates=True)) == []


@pytest.mark.parametrize(
    ("text", "minor", "holds"),
    [
        ("a since=1.34", 33, False),
        ("a since=1.34", 34, True),
        ("a until=1.34", 34, True),
        ("a until=1.34", 35, False),
        ("a since=1.32 until=1.33", 31, False),
    ],
)
def test_a_line_holds_from_one_minor_to_another(text, minor, holds):
    assert table.holds(table.words(text, "here"), minor) is holds


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('type LeaseSpec\n  strategy "text"', "a text stands behind its word"),
        ("  strategy required\nfields LeaseSpec", "a line begins with"),
        ("type LeaseSpec\n  strategy since=2", "no version like 1.36"),
    ],
)
def test_an_unreadable_line_is_an_error_with_its_reason(text, problem):
    def read():
        return [each.lines(table.NEWEST) for each in table.read(text, "coordination.rules")]

    with pytest.raises(table.RuleError, match=problem):
        read()


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("a", True), ("!a", False), ("b", False), ("a:x|y", True), ("!a:x", False), ("a,c.d", True),
        ("~a", True), ("^z", True), ("create", False), ("update", True), ("e:true", True),
        ("c.d>0", True), ("c.d>1", False), ("c.d<2", True), ("f<0", False), ("f<1", True),
        ("a>0", False),
    ],
)  # fmt: skip
def test_a_condition_reads_other_fields(text, holds):
    outer = Frame({"z": 1}, "", {"z": 1}, None, updates=True)
    frame = Frame({"a": "x", "c": {"d": 1}, "e": True}, "spec.", {"a": "w"}, outer, updates=True)
    whether = conditions.make(text, LEASE, "coordination", "here")
    assert whether(frame) is holds


def test_errors_of_a_last_line_end_the_paragraph():
    spec = {"dnsPolicy": "Default", "containers": [{"name": "a"}], "tolerations": [{"key": "a"}]}
    before = {"metadata": {}, "spec": spec}

    def fields(**changes):
        changed = {"metadata": {}, "spec": {**spec, **changes}}
        found = rules.book().update_errors(changed, GVK("", "v1", "Pod"), before)
        return [error.field for error in found]

    assert "spec.tolerations" in fields(tolerations=[])
    assert fields(tolerations=[], containers=[])[-1] == "spec.containers"
