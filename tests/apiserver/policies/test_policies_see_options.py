"""`request.options` in policies: the options of every verb."""

import json
import re

import pytest
import pytest_asyncio

MAPS = "/api/v1/namespaces/default/configmaps"
POLICIES = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"
RULE = {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["*/*"], "operations": ["*"]}
POLICY = {
    "metadata": {"name": "options"},
    "spec": {
        "matchConstraints": {"resourceRules": [RULE]},
        "validations": [
            {"expression": "false", "messageExpression": "'%s'.format([request.options])"}
        ],
    },
}
BINDING = {
    "metadata": {"name": "options"},
    "spec": {"policyName": "options", "validationActions": ["Warn"]},
}
JSON, MERGE = "application/json", "application/merge-patch+json"
APPLY = "application/apply-patch+yaml"
MAP = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "labels": {"only": ""}}}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def told(web):
    """The options that a policy sees in a dry run of a request."""
    await web.ask("POST", MAPS, MAP)
    await web.ask("POST", POLICIES, POLICY)
    await web.ask("POST", f"{POLICIES.removesuffix('policies')}policybindings", BINDING)

    async def options(method, path, body=None, **headers):
        answer = await web.ask(method, path, body, **headers)
        [warning] = [text for text in answer.warnings if "'options'" in text]
        found = re.search(r"'options'.*: (null|\{.*\})", warning.replace('\\"', '"'))
        return json.loads(found[1])

    return options


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize(
    ("request_of", "expected"),
    [
        (("POST", f"{MAPS}?fieldManager=m&fieldValidation=Warn", {"metadata": {"name": "b"}}, JSON),
         {"kind": "CreateOptions", "fieldManager": "m", "fieldValidation": "Warn"}),
        (("PUT", f"{MAPS}/a?fieldManager=m&fieldValidation=Strict", MAP, JSON),
         {"kind": "UpdateOptions", "fieldManager": "m", "fieldValidation": "Strict"}),
        (("PUT", f"{MAPS}/a?", MAP, JSON), {"kind": "UpdateOptions"}),
        (("PATCH", f"{MAPS}/a?fieldManager=m", {"data": {"x": "y"}}, MERGE),
         {"kind": "UpdateOptions", "fieldManager": "m"}),
        (("PATCH", f"{MAPS}/a?fieldManager=m&force=true", MAP, APPLY),
         {"kind": "UpdateOptions", "fieldManager": "m"}),
        (("DELETE", f"{MAPS}/a?propagationPolicy=Foreground&gracePeriodSeconds=3", None, JSON),
         {"kind": "DeleteOptions", "propagationPolicy": "Foreground", "gracePeriodSeconds": 3}),
        (("DELETE", f"{MAPS}?propagationPolicy=Orphan&labelSelector=only", None, JSON),
         {"kind": "DeleteOptions", "propagationPolicy": "Orphan"}),
        (("DELETE", f"{MAPS}?", {"orphanDependents": True, "dryRun": ["All"]}, JSON),
         {"kind": "DeleteOptions", "orphanDependents": True}),
    ],
)  # fmt: skip
async def test_every_verb_passes_its_options_to_policies(told, request_of, expected):
    method, path, body, media = request_of
    options = await told(method, f"{path}&dryRun=All", body, Content_Type=media)
    assert options == {"apiVersion": "meta.k8s.io/v1", "dryRun": ["All"], **expected}


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("method", ["GET", "POST"])
@pytest.mark.parametrize("path", ["pods/a/exec?command=x", "pods/a/proxy?", "services/a/proxy/x?"])
async def test_a_connection_has_no_options(told, method, path):
    """What a client connects with is the object of the request (rest.ConnectResource)."""
    assert await told(method, f"/api/v1/namespaces/default/{path}") is None
