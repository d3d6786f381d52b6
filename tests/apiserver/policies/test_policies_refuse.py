"""ValidatingAdmissionPolicies on a running server, through the in-process client."""

import pytest
import pytest_asyncio

from inkube import APIServer
from inkube.schemas.status import StatusError

ADMISSION = "admissionregistration.k8s.io/v1"
RULES = {
    "resourceRules": [
        {
            "apiGroups": [""],
            "apiVersions": ["v1"],
            "resources": ["configmaps"],
            "operations": ["CREATE", "UPDATE"],
        }
    ]
}


def config_map(name, **data):
    meta = {"name": name, "namespace": "default"}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": data}


def policy(*validations, **spec):
    return {
        "apiVersion": ADMISSION,
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": "p"},
        "spec": {"matchConstraints": RULES, "validations": list(validations), **spec},
    }


def binding(*actions, **spec):
    return {
        "apiVersion": ADMISSION,
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": "b"},
        "spec": {"policyName": "p", "validationActions": list(actions), **spec},
    }


@pytest_asyncio.fixture
async def server():
    async with APIServer() as running:
        yield running


async def refused(server, obj):
    with pytest.raises(StatusError) as caught:
        await server.client.create(obj)
    return caught.value


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("condition", "message"),
    [
        ("namespaceObject == null", "seen"),
        ("has(namespaceObject.metadata)", ""),
        ("namespaceObject.metadata.name == 'default'", "no such key: metadata"),
    ],
)
async def test_validations_see_the_namespace_and_match_conditions_see_null(
    server, condition, message
):
    """matchconditions/matcher.go passes no namespace."""
    validation = {"expression": "namespaceObject.metadata.name != 'default'", "message": "seen"}
    conditions = [{"name": "c", "expression": condition}]
    await server.client.create(policy(validation, matchConditions=conditions))
    await server.client.create(binding("Deny"))
    if message:
        assert (await refused(server, config_map("a"))).message.endswith(message)
    else:
        await server.client.create(config_map("a"))


@pytest.mark.asyncio
async def test_a_policy_is_in_force_as_soon_as_it_is_bound_and_no_longer(server):
    await server.client.create(policy({"expression": "has(object.data.owner)"}))
    await server.client.create(config_map("before"))
    await server.client.create(binding("Deny"))
    error = await refused(server, config_map("a", other="x"))
    assert (error.code, error.reason) == (422, "Invalid")
    assert error.message == (
        "configmaps \"a\" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied"
        " request: failed expression: has(object.data.owner)"
    )
    await server.client.create(config_map("b", owner="me"))
    await server.client.delete(f"{ADMISSION}/validatingadmissionpolicybindings", "b")
    await server.client.create(config_map("a"))


@pytest.mark.asyncio
async def test_a_changed_policy_is_compiled_anew(server):
    await server.client.create(policy({"expression": "false", "message": "one"}))
    await server.client.create(binding("Deny"))
    assert (await refused(server, config_map("a"))).message.endswith(": one")
    await server.settled()  # wait for its status, too
    stored = await server.client.get(f"{ADMISSION}/validatingadmissionpolicies", "p")
    stored["spec"]["validations"] = [{"expression": "false", "message": "two"}]
    await server.client.update(stored)
    assert (await refused(server, config_map("a"))).message.endswith(": two")


@pytest.mark.asyncio
async def test_a_variable_in_error_names_itself(server):
    made = policy(
        {"expression": "variables.size > 0"},
        variables=[{"name": "size", "expression": "object.data.missing.size()"}],
    )
    await server.client.create(made)
    await server.client.create(binding("Deny"))
    error = await refused(server, config_map("a", other="x"))
    assert 'composited variable "size" fails to evaluate: no such key: missing' in error.message


@pytest.mark.asyncio
async def test_parameters_come_from_objects_of_the_params_kind(server):
    made = policy(
        {"expression": "object.data.size() <= int(params.data.most)", "reason": "Forbidden"},
        paramKind={"apiVersion": "v1", "kind": "ConfigMap"},
    )
    await server.client.create(config_map("limit", most="1"))
    await server.client.create(made)
    reference = {"name": "limit", "parameterNotFoundAction": "Deny"}
    await server.client.create(binding("Deny", paramRef=reference))
    assert (await refused(server, config_map("a", x="1", y="2"))).code == 403
    await server.client.create(config_map("a", x="1"))
    await server.client.delete("v1/configmaps", "limit", "default")
    error = await refused(server, config_map("b"))
    assert error.message.endswith(
        "no params found for policy binding with `Deny` parameterNotFoundAction"
    )


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("expression", "why"),
    [
        ("has(params.data)", "failed expression: has(params.data)"),
        ("params != null", "failed expression: params != null"),
        ("params.?data.hasValue()", "failed expression: params.?data.hasValue()"),
        ("params.data.most == '1'", "resulted in error: no such key: data"),
    ],
)
async def test_parameters_that_no_binding_names_are_null(server, expression, why):
    kind = {"apiVersion": "v1", "kind": "ConfigMap"}
    await server.client.create(policy({"expression": expression}, paramKind=kind))
    await server.client.create(binding("Deny"))
    error = await refused(server, config_map("a"))
    assert error.message.endswith(why)


@pytest.mark.asyncio
async def test_a_policy_with_an_unknown_kind_of_parameters_refuses_whatever_its_binding_says(
    server,
):
    kind = {"apiVersion": "example.com/v1", "kind": "Nope"}
    await server.client.create(policy({"expression": "true"}, paramKind=kind))
    never = {"objectSelector": {"matchLabels": {"never": "set"}}}
    await server.client.create(binding("Audit", matchResources=never))
    error = await refused(server, config_map("a"))
    assert error.details["causes"][0]["message"] == (
        "ValidatingAdmissionPolicy 'p' denied request: failed to configure policy: failed to find "
        "resource referenced by paramKind: 'example.com/v1, Kind=Nope'"
    )


@pytest.mark.asyncio
async def test_doubts_about_types_stand_in_the_status(server):
    await server.client.create(policy({"expression": "object.dat.size() > 0"}))
    await server.settled()
    stored = await server.client.get(f"{ADMISSION}/validatingadmissionpolicies", "p")
    (warning,) = stored["status"]["typeChecking"]["expressionWarnings"]
    assert warning["fieldRef"] == "spec.validations[0].expression"
    assert warning["warning"].startswith("/v1, Kind=ConfigMap: ERROR: <input>:1:7: undefined field")


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("validation", "why"),
    [
        ({"expression": "object.x"}, "must evaluate to bool but got dyn"),
        ({"expression": "params.x == 1"}, "undeclared reference to 'params'"),
        ({"expression": "true", "messageExpression": "authorizer"}, "undeclared reference to"),
        ({"expression": "request.nothing"}, "undefined field 'nothing'"),
        ({"expression": "variables.a"}, "undeclared reference to 'variables'"),
        (
            {"expression": "true", "messageExpression": "variables.a"},
            "undeclared reference to 'variables'",
        ),
    ],
)
async def test_a_policy_that_does_not_compile_is_not_stored(server, validation, why):
    error = await refused(server, policy(validation))
    assert error.code == 422
    assert why in error.message
