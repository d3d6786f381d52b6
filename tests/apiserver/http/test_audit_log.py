"""The events of a server's audit log."""

import json
import subprocess
import sys
from typing import Any

import pytest
import yaml

from inkube import APIServer

MAPS = "/api/v1/namespaces/default/configmaps"
RULES = [
    {"level": "None", "resources": [{"group": "", "resources": ["secrets"]}]},
    {"level": "RequestResponse", "verbs": ["create"], "omitManagedFields": True},
    {"level": "Request", "verbs": ["update"]},
    {"level": "Metadata", "nonResourceURLs": ["/version*"]},
    {"level": "None", "nonResourceURLs": ["*"]},
    {"level": "Metadata"},
]


async def asked(folder, web_of, policy, *requests):
    """The audit events of a server with this policy for these requests."""
    log, file = folder / "audit.log", None
    if policy is not None:
        file = folder / "policy.yaml"
        file.write_text(
            yaml.safe_dump({"apiVersion": "audit.k8s.io/v1", "kind": "Policy", **policy})
        )
    async with APIServer(audit_log=log, audit_policy_file=file) as server, web_of(server) as web:
        for method, path, body in requests:
            await web.ask(method, path, body)
    return [json.loads(line) for line in log.read_text().splitlines()]


def config_map(name, **data):
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


@pytest.mark.asyncio
async def test_without_a_policy_every_request_is_told_without_bodies(tmp_path, web_of):
    [event] = await asked(tmp_path, web_of, None, ("POST", MAPS, config_map("a")))
    assert (event["level"], event["stage"], event["verb"]) == (
        "Metadata", "ResponseComplete", "create",
    )  # fmt: skip
    assert event["objectRef"] == {
        "resource": "configmaps", "namespace": "default", "name": "a", "apiVersion": "v1",
    }  # fmt: skip
    assert event["responseStatus"] == {"metadata": {}, "code": 201}
    assert event["user"]["username"] == "system:admin"
    assert event["annotations"]["authorization.k8s.io/decision"] == "allow"
    assert "requestObject" not in event


@pytest.mark.asyncio
async def test_the_first_rule_that_fits_says_how_much_is_told(tmp_path, web_of):
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}}
    made, changed, read, version = await asked(
        tmp_path,
        web_of,
        {"rules": RULES},
        ("POST", "/api/v1/namespaces/default/secrets", secret),
        ("POST", MAPS, config_map("a", x="1")),
        ("PUT", f"{MAPS}/a", config_map("a", x="2")),
        ("GET", f"{MAPS}/a", None),
        ("GET", "/version", None),
        ("GET", "/livez", None),
    )
    assert made["requestObject"]["data"] == {"x": "1"}
    assert made["responseObject"]["metadata"]["name"] == "a"
    assert "managedFields" not in made["responseObject"]["metadata"]
    assert changed["requestObject"]["data"] == {"x": "2"}
    assert "responseObject" not in changed
    assert (read["verb"], read["level"]) == ("get", "Metadata")
    assert version["requestURI"] == "/version"


@pytest.mark.asyncio
async def test_what_failed_is_told_with_its_reason(tmp_path, web_of):
    [event] = await asked(tmp_path, web_of, None, ("GET", f"{MAPS}/none", None))
    assert event["responseStatus"]["code"] == 404
    assert event["responseStatus"]["reason"] == "NotFound"


@pytest.mark.asyncio
async def test_policies_leave_annotations(tmp_path, web_of):
    group = "admissionregistration.k8s.io/v1"
    policy = {
        "apiVersion": group,
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": "p.example.com"},
        "spec": {
            "matchConstraints": {
                "resourceRules": [
                    {
                        "apiGroups": [""],
                        "apiVersions": ["v1"],
                        "resources": ["configmaps"],
                        "operations": ["CREATE"],
                    }
                ]
            },
            "validations": [{"expression": "false", "message": "never"}],
            "auditAnnotations": [{"key": "who", "valueExpression": "string(object.metadata.name)"}],
        },
    }
    binding = {
        "apiVersion": group,
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": "b.example.com"},
        "spec": {"policyName": "p.example.com", "validationActions": ["Audit"]},
    }
    base = f"/apis/{group}"
    *_, event = await asked(
        tmp_path,
        web_of,
        None,
        ("POST", f"{base}/validatingadmissionpolicies", policy),
        ("POST", f"{base}/validatingadmissionpolicybindings", binding),
        ("POST", MAPS, config_map("a")),
    )
    told = event["annotations"]
    assert told["p.example.com/who"] == "a"
    [failure] = json.loads(told["validation.policy.admission.k8s.io/validation_failure"])
    assert failure == {
        "message": "never",
        "policy": "p.example.com",
        "binding": "b.example.com",
        "expressionIndex": 0,
        "validationActions": ["Audit"],
    }


@pytest.mark.asyncio
@pytest.mark.parametrize("mode", ["AlwaysAllow", "RBAC"])
async def test_a_user_that_acts_as_another_is_named_beside_it(tmp_path, web_of, mode):
    log, tokens = tmp_path / "audit.log", tmp_path / "tokens.csv"
    tokens.write_text('a,ann,1,"system:masters"\nb,ben,2,\n')
    options: Any = {"audit_log": log, "token_auth_file": tokens, "authorization_mode": mode}
    async with APIServer(**options) as server, web_of(server) as web:
        for token in ("a", "b"):
            headers = {"Authorization": f"Bearer {token}", "Impersonate_User": "bob"}
            await web.ask("GET", MAPS, **headers)
            await web.ask("GET", MAPS, Authorization=f"Bearer {token}")
    as_bob, ann, *others = [json.loads(line) for line in log.read_text().splitlines()]
    assert as_bob["user"]["username"] == ann["user"]["username"] == "ann"
    bob = {"username": "bob", "groups": ["system:authenticated"]}
    assert as_bob["impersonatedUser"] == bob, "although bob may not read them under RBAC"
    constraint = {"impersonationConstraint": "impersonate:user-info"}
    assert as_bob["authenticationMetadata"] == constraint
    assert "impersonatedUser" not in ann
    assert [each["user"]["username"] for each in others] == ["ben", "ben"]
    assert ("impersonatedUser" in others[0]) is (mode == "AlwaysAllow"), "not if it is refused"


_TO_STANDARD_OUTPUT = """
import asyncio, urllib.request
from pathlib import Path
from inkube import APIServer

async def main():
    async with APIServer(audit_log=Path("-"), modules="none") as server:
        await asyncio.to_thread(lambda: urllib.request.urlopen(server.url + "/version").read())

asyncio.run(main())
print("still open")
"""


def test_a_hyphen_is_standard_output(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", _TO_STANDARD_OUTPUT],
        capture_output=True, text=True, check=True, timeout=60, cwd=tmp_path,
    )  # fmt: skip
    event, last = done.stdout.splitlines()
    assert json.loads(event)["requestURI"] == "/version"
    assert last == "still open"
    assert not list(tmp_path.iterdir())
