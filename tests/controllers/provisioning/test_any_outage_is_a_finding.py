"""Whatever code a host answers with, and however slowly: a finding with type, field and detail."""

import logging

import aiohttp
import pytest
from worlds import PROVISIONING, PUBLIC, app, connection, host, repository

from inkube import APIServer

CODES = [400, 401, 402, 403, 404, 408, 410, 418, 429, 500, 501, 502, 503, 504, 599]
OTHERS = {"path": "grafana/grafana", "branches": ["main"]}
REPOSITORIES = f"/apis/{PROVISIONING}/namespaces/ns/repositories"
FORM = {"spec.github.appID", "spec.github.installationID", "secure.privateKey"}


@pytest.mark.parametrize("code", CODES)
async def test_a_connection_reports_every_code(server, code, caplog):
    await server.create(app(publicKey=PUBLIC))
    await server.create(host("api.github.com", outage={"code": code}))
    await server.create(host("github.com", outage={"code": code}))
    causes = await server.dry_run(connection())
    await server.create(connection())
    errors = await server.errors("connections", "conn")
    assert errors
    assert len(causes) == len(errors)
    for error in errors:
        assert error["field"] in FORM, error
        assert error["detail"]
        assert "broke" not in error["detail"]
    assert not [each for each in caplog.records if each.levelno >= logging.ERROR]


@pytest.mark.parametrize(
    ("code", "error"),
    [
        (401, ("FieldValueInvalid", "secure.privateKey", "authentication failed")),
        (403, ("FieldValueInvalid", "secure.privateKey", "permission denied")),
        (404, ("FieldValueNotFound", "spec.github.appID", "app not found")),
        (503, ("InternalError", "spec.github.appID", "github is unavailable")),
    ],
)
async def test_the_user_learns_what_to_update(server, code, error):
    await server.create(app(publicKey=PUBLIC))
    await server.create(host("github.com", outage={"code": code}))
    await server.create(connection())
    [found] = await server.errors("connections", "conn")
    assert (found["type"], found["field"], found["detail"]) == error


@pytest.mark.parametrize("code", CODES)
async def test_a_repository_reports_every_code(server, code, caplog):
    await server.create(host(repositories=[OTHERS], outage={"code": code}))
    await server.create(repository(secure={"token": {"create": "x"}}, workflows=["write"]))
    errors = await server.errors("repositories")
    assert errors
    assert all(error["field"] and "broke" not in error["detail"] for error in errors)
    assert not [each for each in caplog.records if each.levelno >= logging.ERROR]


SLOW = "the host did not answer within 10 seconds; tried again within 60 seconds"


@pytest.mark.parametrize("token", [None, "good"])
async def test_a_slow_host_is_an_invalid_field_that_a_form_has(server, token):
    await server.create(host(repositories=[OTHERS], outage={"delayMilliseconds": 11_000}))
    secure = {"token": {"create": token}} if token else None
    await server.create(repository(secure=secure))
    for _ in range(3):
        await server.recheck(11)
    found = [
        (error["type"], error["field"], error["detail"])
        for error in await server.errors("repositories")
    ]
    url = ("FieldValueInvalid", "spec.github.url", f"failed to check if repository exists: {SLOW}")
    credentials = ("FieldValueInvalid", "secure.token", f"failed to check if authorized: {SLOW}")
    assert found == ([url, credentials] if token else [url])


async def test_a_dry_run_ends_with_the_client_s_time_limit():
    async with APIServer(offline=True) as api:
        await api.client.create(
            {**host(repositories=[OTHERS], outage={"delayMilliseconds": 60_000})}
        )
        obj = repository()
        obj["metadata"]["namespace"] = "default"
        path = f"/apis/{PROVISIONING}/namespaces/default/repositories?dryRun=All&timeout=1s"
        async with (
            aiohttp.ClientSession(api.url) as session,
            session.post(path, json=obj) as answer,
        ):
            body = await answer.json(content_type="text/plain")
        assert (answer.status, body["reason"]) == (504, "Timeout")
        assert body["message"] == "Timeout: request did not complete within the allotted timeout"
