"""The jq of stages returns the same as jq, refuses unsupported queries, and always ends."""

import pytest

from inkube.controllers.workloads.stages import jq

POD = {
    "metadata": {"name": "p", "annotations": {"delay": "5s", "x/index": "1,3"}},
    "spec": {"containers": [{"name": "a", "image": "i:1"}, {"name": "b", "image": "i:2"}]},
    "status": {
        "phase": "Running",
        "conditions": [{"type": "Ready", "status": "True"}, {"type": "Other", "status": "False"}],
    },
}


@pytest.mark.parametrize(
    ("query", "outputs"),
    [
        (".", [POD]),
        (".status.phase", ["Running"]),
        (".metadata.deletionTimestamp", [None]),
        ('.metadata.annotations["delay"]', ["5s"]),
        ('.metadata.annotations."x/index"', ["1,3"]),
        (".spec.containers[].name", ["a", "b"]),
        (".spec.containers.[].name", ["a", "b"]),
        (".spec.containers[0].name, .spec.containers[-1].name", ["a", "b"]),
        (".spec.containers[5]", [None]),
        (".spec.containers[1:] | length", [1]),
        ('.status.conditions.[] | select( .type == "Ready" ) | .status', ["True"]),
        (".nothing[]?", []),
        ('.nothing // "instead"', ["instead"]),
        ("(false, null, 1) // 2", [1]),
        ('[.spec.containers[] | .name] | join("+")', ["a+b"]),
        ('.metadata.annotations."x/index" as $w | $w | split(",") | index("3")', [1]),
        ("1 as $x | 2 as $y | [$x, $y, $x]", [[1, 2, 1]]),
        ("(1, 2) as $x | $x * 10", [10, 20]),
        ('if .status.phase == "Pending" then 1 elif true then 2 else 3 end', [2]),
        ('{name: .metadata.name, ("a", "b"): 1}', [{"name": "p", "a": 1}, {"name": "p", "b": 1}]),
        ("1 + 2 * 3 - 4 / 2", [5]),
        ("7 % 3, -7 % 3", [1, -1]),
        ('"a,b" / ","', [["a", "b"]]),
        ("[3, 1, 2] | sort, max, min, add", [[1, 2, 3], 3, 1, 6]),
        ("not, (null | not)", [False, True]),
        ("true and (true, false)", [True, False]),
        ('[1, null, "a", {}, []] | map(type)', [["number", "null", "string", "object", "array"]]),
        ('.metadata.name | test("^p$"), startswith("p"), length', [True, True, 1]),
        ('.spec.containers | any(.name == "b"), all(.name == "b")', [True, False]),
        ("[..] | length > 10", [True]),
        ('.metadata.annotations | has("delay"), keys', [True, ["delay", "x/index"]]),
        (".metadata.annotations | to_entries | map(.key) | first", ["delay"]),
        ("[1, 2] | contains([1])", [True]),
        ('"5" | tonumber, ("1.5" | tonumber)', [5, 1.5]),
        ('1 < "a", null < false, [] < {}', [True, True, True]),
        ('{} == {}, 1 == 1.0, "1" == 1', [True, True, False]),
        ("# a comment\n1", [1]),
    ],
)
def test_a_query_has_these_outputs(query, outputs):
    assert list(jq.compile(query)(POD)) == outputs


@pytest.mark.parametrize(
    ("query", "why"),
    [
        ("def f: .; f", "not supported: def"),
        ("reduce .[] as $x (0; . + $x)", "not supported: reduce"),
        (".a = 1", "not supported: ="),
        (".a |= 1", "not supported: |="),
        ('"\\(.a)"', "not supported: string interpolation"),
        ("frobnicate", "not supported: frobnicate/0"),
        (".a[", "unexpected the end"),
        ("(1", "unexpected the end"),
        (".a b", "unexpected 'b'"),
        ("!", "unexpected '!'"),
        ("(" * 70 + "1" + ")" * 70, "nests at most"),
        ("." * 5000, "at most 4096 characters"),
    ],
)
def test_what_is_not_supported_is_refused_by_name(query, why):
    with pytest.raises(jq.QueryError) as caught:
        jq.compile(query)
    assert why in str(caught.value)


@pytest.mark.parametrize(
    "query",
    [".metadata.name.first", '.spec.containers["a"]', "1 / 0", "$x", "{} + 1", 'error("x")'],
)
def test_a_query_that_does_not_fit_has_no_outputs(query):
    assert jq.compile(query).outputs(POD) == []


def test_outputs_before_an_error_of_a_query_are_used():
    assert jq.compile(".metadata.name, .metadata.name[0].x").outputs(POD) == ["p"]


def test_a_query_that_would_take_for_ever_ends():
    product = " | ".join(["(1,2,3,4,5,6,7,8,9,0)"] * 12)
    with pytest.raises(jq.RunError, match="steps"):
        list(jq.compile(product)(None))
