"""The flow schema of a request, reported in two headers."""

import aiohttp
import pytest

from inkube import APIServer

GROUP = "/apis/flowcontrol.apiserver.k8s.io/v1"
SCHEMA, LEVEL = "X-Kubernetes-PF-FlowSchema-UID", "X-Kubernetes-PF-PriorityLevel-UID"


@pytest.fixture
async def session():
    async with APIServer() as server, aiohttp.ClientSession(server.url) as session:
        yield session


async def read(session, path, **headers):
    async with session.get(path, headers=headers) as answer:
        return await answer.json(), answer.headers


async def uid_of(session, plural, name):
    found, _ = await read(session, f"{GROUP}/{plural}/{name}")
    return found["metadata"]["uid"]


async def test_nobody_is_told_before_somebody_asked_for_flow_schemas(session):
    _, headers = await read(session, "/api/v1/namespaces")
    assert SCHEMA not in headers


async def test_an_administrator_is_exempt(session):
    exempt = await uid_of(session, "flowschemas", "exempt")
    level = await uid_of(session, "prioritylevelconfigurations", "exempt")
    _, headers = await read(session, "/api/v1/namespaces")
    assert (headers[SCHEMA], headers[LEVEL]) == (exempt, level)


async def test_a_schema_of_ones_own_comes_by_its_precedence(session):
    user = {"kind": "User", "user": {"name": "jane"}}
    everywhere = {"namespaces": ["*"], "clusterScope": True}
    rule = {"verbs": ["list"], "apiGroups": [""], "resources": ["secrets"], **everywhere}
    body = {
        "metadata": {"name": "janes"},
        "spec": {
            "priorityLevelConfiguration": {"name": "exempt"},
            "matchingPrecedence": 2,
            "rules": [{"subjects": [user], "resourceRules": [rule]}],
        },
    }
    async with session.post(f"{GROUP}/flowschemas", json=body) as answer:
        made = (await answer.json())["metadata"]["uid"]
    jane = {"Impersonate-User": "jane"}
    _, headers = await read(session, "/api/v1/namespaces/default/secrets", **jane)
    assert headers[SCHEMA] == made
    _, headers = await read(session, "/api/v1/namespaces/default/configmaps", **jane)
    assert headers[SCHEMA] != made
    _, headers = await read(session, "/version", **jane)
    assert headers[SCHEMA] == await uid_of(session, "flowschemas", "global-default")
    async with session.delete(f"{GROUP}/flowschemas/janes") as answer:
        assert answer.status == 200
    _, headers = await read(session, "/api/v1/namespaces/default/secrets", **jane)
    assert headers[SCHEMA] != made
