"""Requirements of selectors in reviews of access. They are checked like those of a label selector,
except for operators, which newer clients may know."""

import pytest

pytestmark = pytest.mark.asyncio(loop_scope="module")
REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
NO_VALUES = "must be specified when `operator` is 'In' or 'NotIn'"
VALUES = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"


@pytest.mark.parametrize(
    ("requirement", "of_labels", "of_fields"),
    [
        ({"key": "a", "operator": "In", "values": ["b"]}, [], []),
        ({"key": "a", "operator": "New", "values": ["b"]}, [], []),
        ({"key": "a", "operator": "In"}, [f"values: Required value: {NO_VALUES}"], None),
        (
            {"key": "a", "operator": "Exists", "values": ["b"]},
            [f"values: Forbidden: {VALUES}"],
            None,
        ),
        (
            {"operator": "Exists"},
            ['key: Invalid value: ""', 'key: Invalid value: ""'],
            ["key: Required value: must be specified"],
        ),
        (
            {"key": "a", "operator": "In", "values": ["b c"]},
            ['values[0]: Invalid value: "b c"'],
            [],
        ),
        ({"key": "a b", "operator": "Exists"}, ['key: Invalid value: "a b"'], []),
    ],
)
@pytest.mark.parametrize("member", ["labelSelector", "fieldSelector"])
async def test_a_requirement_of_a_selector_is_checked(
    web, requirement, of_labels, of_fields, member
):
    resource = {"verb": "list", "resource": "pods", member: {"requirements": [requirement]}}
    answer = await web.ask("POST", REVIEWS, {"spec": {"resourceAttributes": resource}})
    expected = of_labels if member == "labelSelector" or of_fields is None else of_fields
    if not expected:
        assert answer.code == 201
        return
    place = f"spec.resourceAttributes.{member}.requirements[0]."
    causes = answer.json["details"]["causes"]
    texts = [f"{each['field']}: {each['message']}" for each in causes]
    assert answer.code == 422
    assert [text[: len(place + more)] for text, more in zip(texts, expected, strict=True)] == [
        place + more for more in expected
    ]
