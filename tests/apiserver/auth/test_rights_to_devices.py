"""The status of a claim: who binds it needs a right for all claims, who reports about a device one
for its driver and, if the token is of another node, for any node.

Texts are those of kube-apiserver 1.36.2.
"""

import json

import aiohttp
import pytest

from inkube.apiserver.server import APIServer, Options

GROUP = "resource.k8s.io"
CLAIMS = f"/apis/{GROUP}/v1/namespaces/default/resourceclaims"
RBAC = "/apis/rbac.authorization.k8s.io/v1"
REQUEST = {"name": "r", "exactly": {"deviceClassName": "c"}}
RESULT = {"request": "r", "driver": "d.com", "pool": "p", "device": "x"}
ALLOCATION = {"devices": {"results": [RESULT]}}
ON_A_NODE = {
    **ALLOCATION,
    "nodeSelector": {
        "nodeSelectorTerms": [
            {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n"]}]}
        ]
    },
}
DEVICE = {"driver": "d.com", "pool": "p", "device": "x", "data": {"a": 1}}
ACCOUNT = "system:serviceaccount:default:driver"
NODE = "authentication.kubernetes.io/node-name"


async def grant(ask, *rules, name="given"):
    role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole"}
    body = {**role, "metadata": {"name": name}, "rules": list(rules)}
    assert (await ask("POST", f"{RBAC}/clusterroles", body))[0] == 201
    subjects = [
        {"kind": "User", "name": "plain-user"},
        {"kind": "ServiceAccount", "name": "driver", "namespace": "default"},
    ]
    bound = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": name},
        "roleRef": {"kind": "ClusterRole", "name": name},
        "subjects": subjects,
    }
    assert (await ask("POST", f"{RBAC}/clusterrolebindings", bound))[0] == 201


def rule(resource, *verbs, **more):
    return {"apiGroups": [GROUP], "resources": [resource], "verbs": list(verbs), **more}


async def claimed(ask, **status):
    body = {"metadata": {"name": "a"}, "spec": {"devices": {"requests": [REQUEST]}}}
    assert (await ask("POST", CLAIMS, body))[0] == 201
    if status:
        assert (await patch(ask, status, token="admin-token"))[0] == 200


async def patch(ask, status, headers=None, token="user-token"):
    sent = {"Content-Type": "application/merge-patch+json", **(headers or {})}
    return await ask(
        "PATCH", f"{CLAIMS}/a/status", json.dumps({"status": status}), token=token, headers=sent
    )


def causes(body):
    return [(each["field"], each["message"]) for each in body["details"]["causes"]]


async def test_binding_needs_a_right_to_all_claims(ask) -> None:
    await claimed(ask)
    await grant(ask, rule("resourceclaims/status", "patch"))
    code, body = await patch(ask, {"allocation": ALLOCATION})
    assert code == 422
    assert causes(body) == [
        (
            "status.allocation",
            (
                "Forbidden: changing status.allocation or status.reservedFor requires "
                'resource="resourceclaims/binding", verb="patch" permission: '
                'resourceclaims.resource.k8s.io is forbidden: User "plain-user" cannot patch '
                'resource "resourceclaims/binding" in API group "resource.k8s.io" at the '
                "cluster scope"
            ),
        )
    ]
    await grant(ask, rule("resourceclaims/binding", "patch"), name="more")
    code, _ = await patch(ask, {"allocation": ALLOCATION})
    assert code == 200


async def test_a_report_needs_a_right_to_its_driver(ask) -> None:
    await claimed(ask, allocation=ALLOCATION)
    await grant(ask, rule("resourceclaims/status", "patch"))
    code, body = await patch(ask, {"devices": [DEVICE]})
    assert code == 422
    assert causes(body) == [
        (
            "status.devices",
            (
                'Forbidden: changing status.devices requires resource="resourceclaims/driver", '
                'verb="[arbitrary-node:patch]" permission: '
                'resourceclaims.resource.k8s.io "d.com" is forbidden: User "plain-user" cannot '
                'arbitrary-node:patch resource "resourceclaims/driver" in API group '
                '"resource.k8s.io" in the namespace "default"'
            ),
        )
    ]
    driver = rule("resourceclaims/driver", "arbitrary-node:patch", resourceNames=["d.com"])
    await grant(ask, driver, name="more")
    assert (await patch(ask, {"devices": [DEVICE]}))[0] == 200
    # the removal of an allocation also removes the reports, which needs no right to the driver
    await grant(ask, rule("resourceclaims/binding", "patch"), name="binder")
    assert (await patch(ask, {"allocation": None}))[0] == 200


@pytest.mark.parametrize(("node", "code"), [("n", 200), ("m", 422)])
async def test_a_driver_reports_about_devices_of_its_node(ask, node, code) -> None:
    await claimed(ask, allocation=ON_A_NODE)
    await grant(
        ask,
        rule("resourceclaims/status", "patch"),
        rule("resourceclaims/driver", "associated-node:patch"),
    )
    headers = {
        "Impersonate-User": ACCOUNT,
        "Impersonate-Group": "system:serviceaccounts",
        f"Impersonate-Extra-{NODE.replace('/', '%2f')}": node,
    }
    found, body = await patch(ask, {"devices": [DEVICE]}, headers, token="admin-token")
    assert found == code, body


async def test_a_server_of_1_35_checks_only_the_status(ask, token_file) -> None:
    options = Options(
        token_auth_file=token_file, authorization_mode="RBAC", kubernetes_version="1.35"
    )
    async with APIServer(options) as server, aiohttp.ClientSession() as session:
        older = type(ask)(server, session)
        await claimed(older)
        await grant(older, rule("resourceclaims/status", "patch"))
        assert (await patch(older, {"allocation": ALLOCATION}))[0] == 200
