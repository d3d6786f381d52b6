"""MutatingAdmissionPolicies on a running server, through the in-process client."""

import pytest
import pytest_asyncio

from inkube import APIServer
from inkube.schemas.status import StatusError

ADMISSION = "admissionregistration.k8s.io/v1"


def deployment():
    template = {
        "metadata": {"labels": {"a": "b"}},
        "spec": {"containers": [{"name": "c", "image": "i", "command": ["run"]}]},
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "d", "namespace": "default"},
        "spec": {"selector": {"matchLabels": {"a": "b"}}, "template": template},
    }


def policy(*mutations, **spec):
    rule = {
        "apiGroups": ["apps"],
        "apiVersions": ["v1"],
        "resources": ["deployments"],
        "operations": ["*"],
    }
    return {
        "apiVersion": ADMISSION,
        "kind": "MutatingAdmissionPolicy",
        "metadata": {"name": "p"},
        "spec": {
            "matchConstraints": {"resourceRules": [rule]},
            "reinvocationPolicy": "Never",
            "mutations": list(mutations),
            **spec,
        },
    }


def applied(expression):
    return {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": expression}}


def patched(expression):
    return {"patchType": "JSONPatch", "jsonPatch": {"expression": expression}}


BINDING = {
    "apiVersion": ADMISSION,
    "kind": "MutatingAdmissionPolicyBinding",
    "metadata": {"name": "b"},
    "spec": {"policyName": "p"},
}


@pytest_asyncio.fixture
async def server():
    async with APIServer() as running:
        yield running


async def created(server, *mutations, **spec):
    await server.client.create(policy(*mutations, **spec))
    await server.client.create(BINDING)
    return await server.client.create(deployment())


@pytest.mark.asyncio
async def test_configurations_are_merged_and_later_mutations_see_them(server):
    made = await created(
        server,
        applied("Object{metadata: Object.metadata{labels: {'x': 'y'}}}"),
        patched(
            "[JSONPatch{op: 'add', path: '/metadata/labels/' + jsonpatch.escapeKey('a/b'),"
            " value: object.metadata.labels.x}]"
        ),
    )
    assert made["metadata"]["labels"] == {"x": "y", "a/b": "y"}


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("/spec/paused", ""),
        ("/spec/replicas", ""),
        ("/spec/none/at", "test operation does not apply: is missing path: /spec/none/at"),
    ],
)
async def test_a_test_of_another_value_skips_its_patch_and_one_without_a_place_fails(
    server, path, why
):
    patch = patched(
        f"[JSONPatch{{op: 'test', path: '{path}', value: true}},"
        " JSONPatch{op: 'add', path: '/spec/replicas', value: 7}]"
    )
    if why:
        with pytest.raises(StatusError, match=f"JSON Patch: {why}: missing value"):
            await created(server, patch)
        return
    made = await created(server, patch)
    assert made["spec"]["replicas"] == 1


@pytest.mark.asyncio
async def test_a_mutation_in_error_refuses_unless_failures_are_ignored(server):
    broken = patched("[JSONPatch{op: 'add', path: '/x', value: object.spec.nothing}]")
    with pytest.raises(StatusError) as caught:
        await created(server, broken)
    assert (caught.value.code, caught.value.reason) == (403, "Invalid")
    assert "policy 'p' with binding 'b' denied request: " in caught.value.message
    stored = await server.client.get(f"{ADMISSION}/mutatingadmissionpolicies", "p")
    stored["spec"]["failurePolicy"] = "Ignore"
    await server.client.update(stored)
    await server.client.create(deployment())


@pytest.mark.asyncio
async def test_atomic_lists_may_not_be_part_of_a_configuration(server):
    with pytest.raises(StatusError) as caught:
        await created(
            server,
            applied(
                "Object{spec: Object.spec{template: Object.spec.template{spec:"
                " Object.spec.template.spec{containers: [Object.spec.template.spec.containers{"
                "name: 'c', command: ['other']}]}}}}"
            ),
        )
    assert "may not mutate atomic arrays, maps or structs: " in caught.value.message


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("mutation", "why"),
    [
        (applied("'text'"), "must evaluate to Object but got string"),
        (patched("[1]"), "must evaluate to list(JSONPatch) but got list(int)"),
        (patched("[JSONPatch{op: 1}]"), "expected type of field 'op' is 'string'"),
        (patched("[JSONPatch{other: 1}]"), "undefined field 'other'"),
        (applied("Other{}"), "undeclared reference to 'Other'"),
    ],
)
async def test_mutations_are_compiled_when_the_policy_is_made(server, mutation, why):
    with pytest.raises(StatusError) as caught:
        await server.client.create(policy(mutation))
    assert caught.value.code == 422
    assert why in caught.value.message


def when(label):
    return f"has(object.metadata.labels) && '{label}' in object.metadata.labels"


def counting(name, label, condition, reinvocation):
    """Return a policy that counts in a label how often it changed an object, and its binding."""
    count = f"{when(label)} ? string(int(object.metadata.labels['{label}']) + 1) : '1'"
    made = policy(
        applied(f"Object{{metadata: Object.metadata{{labels: {{'{label}': {count}}}}}}}"),
        reinvocationPolicy=reinvocation,
        matchConditions=[{"name": "when", "expression": condition}],
    )
    binding = {**BINDING, "metadata": {"name": name}, "spec": {"policyName": name}}
    return {**made, "metadata": {"name": name}}, binding


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("policies", "labels"),
    [
        pytest.param([("a", "true", "Never")], {"a": "1"}, id="once"),
        pytest.param([("a", "true", "IfNeeded")], {"a": "2"}, id="after its own change"),
        pytest.param(
            [("a", "true", "IfNeeded"), ("b", "true", "Never")],
            {"a": "2", "b": "1"},
            id="after a later change",
        ),
        pytest.param(
            [("a", "true", "Never"), ("b", "true", "IfNeeded")],
            {"a": "1", "b": "2"},
            id="after an earlier change",
        ),
        pytest.param(
            [("a", when("b"), "IfNeeded"), ("b", "true", "IfNeeded")],
            {"b": "2"},
            id="not for the first time",
        ),
        pytest.param(
            [("a", f"!({when('b')})", "IfNeeded"), ("b", "true", "Never")],
            {"a": "1", "b": "1"},
            id="not without its conditions",
        ),
    ],
)
async def test_policies_that_were_called_are_called_once_more_after_any_change(
    server, policies, labels
):
    for name, condition, reinvocation in policies:
        for obj in counting(name, name, condition, reinvocation):
            await server.client.create(obj)
    made = await server.client.create(deployment())
    assert made["metadata"]["labels"] == labels


@pytest.mark.asyncio
async def test_a_second_call_can_refuse_what_the_first_one_made(server):
    removing = patched("[JSONPatch{op: 'remove', path: '/spec/paused'}]")
    await server.client.create(policy(removing, reinvocationPolicy="IfNeeded"))
    await server.client.create(BINDING)
    paused = deployment()
    paused["spec"]["paused"] = True
    with pytest.raises(StatusError) as caught:
        await server.client.create(paused)
    assert caught.value.message.endswith("Unable to remove nonexistent key: paused: missing value")


@pytest.mark.asyncio
async def test_conditions_are_evaluated_again_also_of_policies_that_are_not_called_again(server):
    failing = f"!({when('b')}) || object.metadata.labels['b'] == object.metadata.labels['c']"
    for name, condition in (("a", failing), ("b", "true")):
        for obj in counting(name, name, condition, "Never"):
            await server.client.create(obj)
    with pytest.raises(StatusError) as caught:
        await server.client.create(deployment())
    assert caught.value.code == 403
    assert "no such key: c" in caught.value.message


@pytest.mark.asyncio
async def test_policies_that_see_an_object_in_different_versions_all_change_it(server):
    """kube-apiserver loses the changes in all versions but that of the last policy."""
    for name, version in (("a", "v1"), ("b", "v2")):
        made, binding = counting(name, name, "true", "Never")
        (rule,) = made["spec"]["matchConstraints"]["resourceRules"]
        rule |= {
            "apiGroups": ["autoscaling"], "apiVersions": [version],
            "resources": ["horizontalpodautoscalers"],
        }  # fmt: skip
        await server.client.create(made)
        await server.client.create(binding)
    autoscaler = {
        "apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "h", "namespace": "default"},
        "spec": {
            "maxReplicas": 2,
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"},
        },
    }  # fmt: skip
    made = await server.client.create(autoscaler)
    assert made["metadata"]["labels"] == {"a": "1", "b": "1"}


@pytest.mark.asyncio
async def test_an_object_is_stored_under_the_name_that_a_policy_gives_it(server):
    """kube-apiserver stores the second object, too, under the name of its request."""
    renaming = patched("[JSONPatch{op: 'replace', path: '/metadata/name', value: 'other'}]")
    await server.client.create(policy(renaming))
    await server.client.create(BINDING)
    assert (await server.client.create(deployment()))["metadata"]["name"] == "other"
    named = {**deployment(), "metadata": {"name": "d2", "namespace": "default"}}
    with pytest.raises(StatusError) as caught:
        await server.client.patch("apps/v1/deployments", "d2", patch=named, type="apply")
    assert caught.value.code == 409
    found = await server.client.list("apps/v1/deployments")
    assert [each["metadata"]["name"] for each in found.items] == ["other"]


@pytest.mark.asyncio
async def test_a_policy_that_another_server_stored_is_evaluated(tmp_path):
    data = tmp_path / "data"
    async with APIServer(data=data) as one, APIServer(data=data) as other:
        change = applied("Object{metadata: Object.metadata{labels: {'x': 'y'}}}")
        await one.client.create(policy(change))
        bound = await one.client.create(BINDING)
        await other.store.current()
        assert other.store.revision >= int(bound["metadata"]["resourceVersion"])
        made = await other.client.create(deployment())
    assert made["metadata"]["labels"] == {"x": "y"}


@pytest.mark.asyncio
async def test_empty_members_do_not_reach_the_next_mutation(server):
    """A built-in object is a Go value between two mutations, which omits empty members."""
    empty = patched("[JSONPatch{op: 'add', path: '/metadata/annotations', value: {}}]")
    inside = patched("[JSONPatch{op: 'add', path: '/metadata/annotations/k', value: 'v'}]")
    with pytest.raises(StatusError) as caught:
        await created(server, empty, inside, failurePolicy="Fail")
    assert caught.value.code == 403
    assert caught.value.message.endswith(
        'doc is missing path: "/metadata/annotations/k": missing value'
    )


@pytest.mark.asyncio
@pytest.mark.parametrize("failure_policy", ["Fail", "Ignore"])
@pytest.mark.parametrize(
    ("path", "value", "why"),
    [
        ("/spec/foo", "1", 'strict decoding error: unknown field "spec.foo"'),
        (
            "/spec/replicas",
            "'x'",
            (
                "json: cannot unmarshal string into Go struct field DeploymentSpec.spec.replicas"
                " of type int32"
            ),
        ),
    ],
)
async def test_what_a_patch_makes_is_decoded_strictly(server, failure_policy, path, value, why):
    mutation = patched(f"[JSONPatch{{op: 'add', path: '{path}', value: {value}}}]")
    with pytest.raises(StatusError) as caught:
        await created(server, mutation, failurePolicy=failure_policy)
    refusal = caught.value
    assert (refusal.code, refusal.reason) == (500, "InternalError")
    assert refusal.message == f"Internal error occurred: {why}"
    assert refusal.details == {"causes": [{"message": why}]}


MUTATIONS = (
    (patched("[JSONPatch{op: 'add', path: '/metadata/annotations', value: {'a': 'b'}}]"), ""),
    (patched("[JSONPatch{op: 'remove', path: '/spec/nothing'}]"), "JSON Patch: error in remove"),
    (patched("object.spec.nothing == 1 ? [JSONPatch{}] : []"), "expression 'object.spec.nothing"),
    (applied("Object{metadata: Object.metadata{labels: {'x': params.data.x}}}"), ""),
)
"""Mutations, and how the error of those begins that fail."""


@pytest.mark.asyncio
@pytest.mark.parametrize("failure_policy", ["Fail", "Ignore"])
@pytest.mark.parametrize("found", [("p",), ("p", "q", "r")])
async def test_every_failure_is_a_cause_and_stops_no_other_mutation(server, failure_policy, found):
    for name in ("p", "q", "r"):
        await server.client.create(parameters(name, labels={"in": str(name in found)}))
    kind = {"apiVersion": "v1", "kind": "ConfigMap"}
    chosen = {"selector": {"matchLabels": {"in": "True"}}, "parameterNotFoundAction": "Deny"}
    await server.client.create(binding("b", chosen))
    await server.client.create(binding("missing", {**chosen, "selector": None, "name": "z"}))
    mutations = [mutation for mutation, _ in MUTATIONS]
    made = policy(*mutations, paramKind=kind, failurePolicy=failure_policy)
    await server.client.create(made)

    if failure_policy == "Ignore":
        changed = (await server.client.create(deployment()))["metadata"]
        assert changed["annotations"] == {"a": "b"}
        assert changed["labels"] == {"x": found[-1]}
        return
    with pytest.raises(StatusError) as caught:
        await server.client.create(deployment())
    refusal = caught.value
    causes = [cause["message"] for cause in refusal.details["causes"]]
    assert (refusal.message, refusal.reason) == (causes[0], "Forbidden")
    expected = [
        "policy 'p' with binding 'missing' denied request: failed to configure binding: no params"
    ]
    expected += [
        f"policy 'p' with binding 'b' denied request: {why}"
        for _ in found
        for _, why in MUTATIONS
        if why
    ]
    assert len(causes) == len(expected)
    for cause, beginning in zip(causes, expected, strict=True):
        assert cause.startswith(beginning)


@pytest.mark.asyncio
async def test_an_unknown_kind_of_parameters_is_an_error_of_the_policy(server):
    kind = {"apiVersion": "example.com/v1", "kind": "Nope"}
    await server.client.create(policy(MUTATIONS[0][0], paramKind=kind))
    await server.client.create(BINDING)
    with pytest.raises(StatusError) as caught:
        await server.client.create(deployment())
    assert caught.value.message == (
        'policy "p" denied request: failed to configure policy: failed to find resource referenced '
        "by paramKind: 'example.com/v1, Kind=Nope'"
    )


def parameters(name, labels):
    metadata = {"name": name, "namespace": "default", "labels": labels}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"x": name}}


def binding(name, reference):
    spec = {**BINDING["spec"], "paramRef": {k: v for k, v in reference.items() if v is not None}}
    return {**BINDING, "metadata": {"name": name}, "spec": spec}


@pytest.mark.asyncio
async def test_parameters_are_those_of_now_for_a_policy_after_the_last_one_was_deleted(server):
    kind = {"apiVersion": "v1", "kind": "ConfigMap"}
    labeled = applied("Object{metadata: Object.metadata{labels: {'x': params.data.x}}}")
    stored = await server.client.create(parameters("z", labels={}))
    bound = binding("b", {"name": "z", "parameterNotFoundAction": "Deny"})
    for value in ("z", "later"):
        await server.client.create(policy(labeled, paramKind=kind))
        await server.client.create(bound)
        made = await server.client.create(deployment())
        assert made["metadata"]["labels"] == {"x": value}
        for plural, name in (("policies", "p"), ("policybindings", "b")):
            await server.client.delete(f"{ADMISSION}/mutatingadmission{plural}", name)
        await server.client.delete("apps/v1/deployments", "d", namespace="default")
        stored["data"]["x"] = "later"
        stored = await server.client.update(stored)
