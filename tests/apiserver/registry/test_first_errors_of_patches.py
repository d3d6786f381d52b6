"""Which of several wrong values of a patched object a refusal names: the first one for Go."""

import random
from typing import Any

import pytest
import pytest_asyncio

PODS = "/api/v1/namespaces/default/pods"
SETS = "/apis/apps/v1/namespaces/default/replicasets"
POD: dict[str, Any] = {
    "metadata": {"name": "p"},
    "spec": {"containers": [{"name": "c", "image": "i", "args": ["a"]}]},
}
in_module = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module", autouse=True)
async def pod(web):
    assert (await web.ask("POST", PODS, POD)).code == 201


def shuffled(value: Any, rng: random.Random) -> Any:
    """Return the value with the members of each object in a random order."""
    if isinstance(value, list):
        return [shuffled(item, rng) for item in value]
    if not isinstance(value, dict):
        return value
    keys = list(value)
    rng.shuffle(keys)
    return {key: shuffled(value[key], rng) for key in keys}


@in_module
async def test_a_merge_patch_names_the_first_value_of_the_sorted_text(web):
    container = {"name": "c", "image": [], "args": [1], "stdin": "x"}
    patch = {"spec": {"containers": [container], "dnsPolicy": 1, "volumes": {}}}
    for seed in range(6):
        answer = await web.patch(f"{PODS}/p", shuffled(patch, random.Random(seed)))
        assert answer.code == 422
        message = answer.json["message"].replace("\\", "")
        assert message.endswith(
            "json: cannot unmarshal number into Go struct field Container.spec.containers.args of "
            "type string"
        )
        assert '"containers":[{"args":[1],"image":[],"name":"c","stdin":"x"}]' in message


@pytest.mark.parametrize(
    ("patch", "error"),
    [
        (
            {"metadata": {"labels": {"a": []}}, "kind": 1, "apiVersion": True},
            "cannot convert int64 to string",
        ),
        ({"metadata": {"labels": {"a": 1}}, "apiVersion": True}, "unrecognized type: string"),
        ({"metadata": {"labels": {"a": 1}}, "spec": []}, "cannot convert int64 to string"),
        (
            {"spec": {"volumes": {}, "dnsPolicy": 1, "hostAliases": {}}},
            "cannot restore slice from map",
        ),
        (
            {"spec": {"hostAliases": {}, "dnsPolicy": 1, "terminationGracePeriodSeconds": [1]}},
            "unrecognized type: int64",
        ),
    ],
)
@in_module
async def test_a_strategic_patch_names_the_first_member_of_the_struct(web, patch, error):
    for seed in range(4):
        sent = shuffled(patch, random.Random(seed))
        answer = await web.patch(f"{PODS}/p", sent, "strategic-merge")
        assert answer.code == 422
        assert answer.json["message"].endswith(error)


@in_module
async def test_an_object_without_version_has_no_known_members(web):
    """It is read into the internal type, whose members have other names."""
    patch = {"apiVersion": None, "spec": {"dnsPolicy": 1}}
    answer = await web.patch(f"{PODS}/p", patch)
    assert answer.code == 400
    assert "name must be provided" in answer.json["message"]
    answer = await web.patch(f"{PODS}/p?fieldValidation=Strict", patch)
    assert answer.json["message"].endswith(
        'strict decoding error: unknown field "metadata", unknown field "spec", unknown field '
        '"status"'
    )


@in_module
async def test_a_scale_is_patched_and_refused_as_an_object_of_its_type(web):
    labels = {"a": "b"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": POD["spec"]["containers"]}}
    spec = {"replicas": 1, "selector": {"matchLabels": labels}, "template": template}
    assert (await web.ask("POST", SETS, {"metadata": {"name": "s"}, "spec": spec})).code == 201
    path = f"{SETS}/s/scale"
    answer = await web.patch(path, {"spec": {"replicas": [], "x": None}}, "strategic-merge")
    assert answer.json["message"] == (
        ' "" is invalid: patch: Invalid value: "map[spec:map[replicas:[] x:<nil>]]": '
        "unrecognized type: int32"
    )
    answer = await web.patch(path, {"status": {"template": 1}}, "strategic-merge")
    assert answer.code == 200, "only an unknown field of the Scale"
    answer = await web.patch(path, {"spec": True})
    head = '{"apiVersion":"autoscaling/v1","kind":"Scale","metadata":{"name":"s"'
    assert head in answer.json["message"].replace("\\", "")
