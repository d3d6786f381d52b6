"""Errors with the texts of older minors."""

import pytest

from inkube.schemas import dialects, fielderrors, releases, status
from inkube.schemas.fielderrors import invalid, required
from inkube.schemas.gotypes import gosource, internal

TAINT = {"key": "k", "effect": "NoSchedule"}
LABEL = invalid("metadata.labels", "v", "must be no more than 63 bytes")


def said(minor, error, **options):
    return dialects.of(minor, **options).errors([error])[0].message()


def test_the_newest_minor_needs_no_other_words():
    assert dialects.of(releases.NEWEST.minor) is None


@pytest.mark.parametrize("minor", [31, 33, 34])
def test_a_text_is_that_of_the_minor(minor):
    assert said(minor, LABEL) == 'Invalid value: "v": must be no more than 63 characters'
    assert said(35, LABEL) == LABEL.message()


def test_a_text_may_be_of_some_fields_only():
    path = "metadata.ownerReferences.kind"
    assert said(33, invalid(path, "", "must not be empty")).endswith("kind must not be empty")
    assert said(33, invalid("spec.kind", "", "must not be empty")).endswith(": must not be empty")


@pytest.mark.parametrize(
    ("field", "value", "shown"),
    [
        ("spec.a", None, '"null"'),
        ("spec.a", ["b", 'c"'], '[]string{"b", "c\\""}'),
        ("spec.a", {"b": "c"}, 'map[string]string{"b":"c"}'),
        ("spec.a", 7, "7"),
        ("spec.hard[pods]", "pods", "pods"),
        ("spec.policyTypes", ["Odd"], '[]networking.PolicyType{"Odd"}'),
        ("x.maxSurge", "a", 'intstr.IntOrString{Type:1, IntVal:0, StrVal:"a"}'),
    ],
)
def test_before_1_34_values_are_go_source(field, value, shown):
    assert said(33, invalid(field, value, "no")) == f"Invalid value: {shown}: no"


def test_an_error_keeps_the_empty_lists_that_its_object_loses_afterwards():
    selector = {"matchLabels": {}}
    error = invalid("spec.selector", internal.value("meta.LabelSelector", selector), "no")
    del selector["matchLabels"]
    assert "MatchLabels:map[string]string{}, MatchExpressions:[]" in said(33, error)


def test_a_missing_struct_is_a_nil_pointer_and_a_missing_list_is_not():
    error = invalid("spec.selector", internal.value("meta.LabelSelector", None), "no")
    assert said(33, error) == 'Invalid value: "null": no'
    error = invalid("x", internal.items("core.NodeSelectorTerm", None), "no")
    assert said(33, error) == "Invalid value: []core.NodeSelectorTerm(nil): no"


def test_times_that_are_not_pointers_have_a_zero_value():
    shown = "Invalid value: 0001-01-01 00:00:00 +0000 UTC: no"
    assert said(33, invalid("eventTime", None, "no")) == shown
    assert (
        said(33, invalid("metadata.deletionTimestamp", None, "no")) == 'Invalid value: "null": no'
    )
    assert said(33, invalid("firstTimestamp", "", "no")) == 'Invalid value: "": no'


def test_1_31_has_two_texts_for_what_is_too_long():
    assert said(31, fielderrors.too_long("spec.attacher", 63)).endswith("at most 63 bytes")
    assert said(31, fielderrors.too_long("spec.managedBy", 63)).endswith("not be longer than 63")
    assert said(33, fielderrors.too_long("a.default", 1)).endswith("may not be more than 1 bytes")
    assert said(34, fielderrors.too_long("a.default", 1)).endswith("may not be more than 1 byte")


def test_structs_are_go_source_too():
    error = fielderrors.duplicate("spec.taints[1]", internal.value("core.Taint", TAINT))
    source = 'core.Taint{Key:"k", Value:"", Effect:"NoSchedule", TimeAdded:<nil>}'
    assert said(33, error) == f"Duplicate value: {source}"
    assert said(34, error) == error.message()


def test_values_of_custom_resources_are_any_json():
    error = invalid("spec.capacity", {"b": "c", "a": [1, None, True, {}]}, "no")
    assert said(33, error, is_builtin=False) == (
        'Invalid value: map[string]interface {}{"a":[]interface {}{1, interface {}(nil), true, '
        'map[string]interface {}{}}, "b":"c"}: no'
    )
    assert said(34, error, is_builtin=False) == error.message()


def test_details_that_were_left_out_in_1_34():
    error = required("spec.template.kind", before="must not be empty")
    assert said(33, error) == "Required value: must not be empty"
    assert said(34, error) == error.message() == "Required value"


@pytest.mark.parametrize(
    ("text", "amount"),
    [("1", "1, scale:0"), ("1.5", "15, scale:-1"), ("100m", "100, scale:-3"), ("1e3", "1, scale:3"),
     ("2Ki", "2048, scale:0")],
)  # fmt: skip
def test_quantities_show_their_digits(text, amount):
    shown = gosource.of_type("resource.Quantity", text)
    assert f"int64Amount{{value:{amount}}}" in shown


def test_the_message_and_the_causes_of_a_refusal_agree():
    error = status.invalid("", "ConfigMap", "a", [LABEL, required("data")])
    dialects.of(31).reword(error)
    assert error.message == (
        'ConfigMap "a" is invalid: [metadata.labels: Invalid value: "v": must be no more than 63 '
        "characters, data: Required value]"
    )
    assert error.details["causes"][0]["message"].endswith("63 characters")


def test_a_refusal_may_have_another_code():
    why = "create not allowed while custom resource definition is terminating"
    error = status.forbidden("example.com", "boats", "a", why)
    dialects.of(33).reword(error)
    assert (error.code, error.reason, error.message) == (405, "MethodNotAllowed", why)


def test_warnings_that_came_later_are_not_given():
    revisions = (
        "spec.revisionHistoryLimit: a negative value retains all historical revisions; a value >= 0"
        " is recommended"
    )
    git = "spec.volumes[0].gitRepo: deprecated in v1.11, and disabled by default in v1.33+"
    assert dialects.of(33).warnings([revisions, git, "other"]) == [revisions, git, "other"]
    assert dialects.of(32).warnings([revisions, git, "other"]) == [
        "spec.volumes[0].gitRepo: deprecated in v1.11",
        "other",
    ]


def test_some_texts_are_those_of_built_in_kinds_only():
    error = required("spec.parameters.kind")
    assert said(33, error).endswith(": kind is required")
    assert said(33, error, is_builtin=False) == said(34, error) == "Required value"


def test_times_are_shown_as_go_prints_them():
    error = invalid("metadata.deletionTimestamp", "2030-01-01T00:00:00Z", "field is immutable")
    for is_builtin in (True, False):
        assert said(33, error, is_builtin=is_builtin) == (
            "Invalid value: 2030-01-01 00:00:00 +0000 UTC: field is immutable"
        )


@pytest.mark.parametrize(
    ("detail", "shown"),
    [("must be greater than or equal to 0", '"-1"'), ("must be an integer", "resource.Quantity{")],
)
def test_the_detail_decides_how_a_quantity_is_shown(detail, shown):
    assert said(33, invalid("spec.hard[pods]", "-1", detail)).startswith(f"Invalid value: {shown}")
