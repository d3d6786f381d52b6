"""Which webhooks match a request, and the meaning of their responses."""

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inkube.schemas import selectors
from inkube.schemas.meta import GVR
from inkube.schemas.warningtexts import MAX_SHORTENED, MAX_TOTAL, limited
from inkube.schemas.webhooks import conditions, matching, replies, review
from inkube.schemas.webhooks.matching import Hook, Request

CRANES = GVR("example.com", "v1", "cranes")
NEWER = GVR("example.com", "v2", "cranes")


def hook(*rules, **changes):
    return Hook({"name": "a.b.c", "clientConfig": {}, "rules": list(rules), **changes})


def rule(*resources, **changes):
    found = {"apiGroups": ["example.com"], "apiVersions": ["*"], "operations": ["*"]}
    return {**found, "resources": list(resources), **changes}


@pytest.mark.parametrize(
    ("resource", "subresource", "matched"),
    [
        ("cranes", "", True),
        ("cranes", "status", False),
        ("cranes/status", "", False),
        ("cranes/*", "", True),
        ("cranes/*", "scale", True),
        ("*/scale", "scale", True),
        ("*", "scale", False),
        ("*/*", "status", True),
    ],
)
def test_a_rule_names_resources_and_subresources(resource, subresource, matched):
    request = Request("CREATE", CRANES, subresource, "default")
    assert (hook(rule(resource)).match(request, ()) is not None) is matched


@pytest.mark.parametrize(
    ("scope", "namespace", "resource", "matched"),
    [
        ("Namespaced", "default", CRANES, True),
        ("Cluster", "default", CRANES, False),
        ("Cluster", "", CRANES, True),
        ("*", "", CRANES, True),
    ],
)
def test_a_rule_may_be_for_one_scope(scope, namespace, resource, matched):
    request = Request("CREATE", resource, "", namespace)
    assert (hook(rule("*", scope=scope)).match(request, ()) is not None) is matched


def test_a_namespace_is_cluster_scoped_although_it_is_named_as_one():
    request = Request("UPDATE", GVR("", "v1", "namespaces"), "", "a")
    assert hook(rule("*", apiGroups=[""], scope="Cluster")).match(request, ())
    assert not hook(rule("*", apiGroups=[""], scope="Namespaced")).match(request, ())


@pytest.mark.parametrize(("policy", "found"), [("Exact", None), ("Equivalent", NEWER)])
def test_another_version_counts_unless_the_policy_is_exact(policy, found):
    request = Request("CREATE", CRANES, "", "default")
    named = hook(rule("cranes", apiVersions=["v2"]), matchPolicy=policy)
    assert named.match(request, (CRANES, NEWER)) == found


def test_selectors_look_at_the_old_or_the_new_object():
    selector = selectors.requirements(
        {"matchExpressions": [{"key": "mark", "operator": "In", "values": ["yes"]}]}
    )
    marked, plain = {"metadata": {"labels": {"mark": "yes"}}}, {"metadata": {}}
    assert matching.either_matches(selector, plain, marked)
    assert not matching.either_matches(selector, plain, None)
    assert matching.either_matches((), None, None)


def test_one_false_condition_beats_errors():
    variables = {
        "object": {"n": 1}, "oldObject": None, "request": {}, "namespaceObject": None,
        "authorizer": None, "authorizer.requestResource": None,
    }  # fmt: skip
    broken, false = "object.none == 1", "object.n == 2"
    assert not conditions.hold([broken, false], variables, ignores=False)
    assert not conditions.hold([broken], variables, ignores=True)
    with pytest.raises(conditions.ConditionError, match="no such key: none"):
        conditions.hold([broken], variables, ignores=False)


def test_all_conditions_of_a_webhook_share_one_budget():
    """RuntimeCELCostBudgetMatchConditions: three conditions, each within the budget, exceed it
    together."""
    variables = {
        "object": {"list": list(range(350))}, "oldObject": None, "request": {},
        "namespaceObject": None, "authorizer": None, "authorizer.requestResource": None,
    }  # fmt: skip
    dear = "object.list.all(a, object.list.all(b, a != b + 350))"
    assert conditions.hold([dear], variables, ignores=False)
    for expressions in ([dear] * 3, ["object.list == []", dear, dear, dear]):
        with pytest.raises(conditions.ConditionError, match="running out of cost budget"):
            conditions.hold(expressions, variables, ignores=False)
        assert not conditions.hold(expressions, variables, ignores=True)


@pytest.mark.parametrize(
    ("code", "body", "why"),
    [
        (500, b"it broke", 'an error on the server ("it broke") has prevented'),
        (500, b"", 'an error on the server ("") has prevented'),
        (503, b"x" * 3000, "the server is currently unable to handle the request"),
        (500, b"x" * 3000, f'an error on the server ("{"x" * 2048}") has prevented'),
        (404, b"", "the server could not find the requested resource"),
        (200, b"", "0-length response with status code: 200 and content type: text/x"),
        (200, b"<p>", "json: cannot unmarshal string into Go value"),
        (200, b'{"kind":"X","apiVersion":"v1"}', 'no kind "X" is registered for version "v1"'),
    ],
)
def test_answers_that_are_no_review_are_errors_with_a_reason(code, body, why):
    with pytest.raises(replies.ReplyError) as error:
        replies.document(code, body, content_type="text/x", version="v1")
    assert why in str(error.value)


def test_an_error_of_another_type_than_text_is_not_shown():
    with pytest.raises(replies.ReplyError, match=r'an error on the server \("unknown"\)'):
        replies.document(500, b"{}", content_type="application/json", version="v1")


def reviewed(**response):
    head = {"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1"}
    return {**head, "response": {"uid": "u", **response}}


@pytest.mark.parametrize(
    ("response", "why"),
    [
        ({"uid": "x"}, 'expected response.uid="u", got "x"'),
        ({"allowed": "yes"}, "cannot unmarshal string into Go struct field"),
        ({"patch": base64.b64encode(b"[]").decode()}, "but not response.patchType"),
        ({"patchType": "JSONPatch"}, "but not response.patch"),
        ({"patch": "%", "patchType": "JSONPatch"}, "illegal base64 data"),
    ],
)
def test_an_answer_of_the_wrong_shape_is_invalid(response, why):
    with pytest.raises(review.InvalidAnswerError, match=why):
        review.read(reviewed(**response), uid="u", version="v1", is_mutating=True)


def test_the_older_review_checks_less():
    answer = review.read(
        {"response": {"allowed": True}}, uid="u", version="v1beta1", is_mutating=True
    )
    assert answer.allowed


@pytest.mark.parametrize("code", [0, 302, 400, 422])
def test_a_refusal_is_an_error_whatever_its_code(code):
    refused = review.Rejection("h", {"code": code, "status": "Success"})
    assert refused.code == max(code, 400)
    assert refused.body()["status"] == "Failure"
    assert refused.message.endswith("denied the request without explanation")


@given(st.lists(st.text(max_size=600), max_size=40))
def test_warnings_stay_within_their_limit(texts):
    shown = limited(texts)
    assert sum(map(len, shown)) < MAX_TOTAL + MAX_SHORTENED
    assert all(any(text.startswith(each) for text in texts) for each in shown)
    assert all(each and "\n" not in each for each in shown)
