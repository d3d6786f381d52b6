"""Connections in the scripted world, and the effects on repositories that use them."""

import pytest
from worlds import OTHER_KEY, PUBLIC, app, caused, connection, host, repository, told

from inkube.schemas.status import StatusError

TOKENS = [{"value": "good", "write": True}, {"value": "reader", "write": False}]
WRITE = {"workflows": ["write"]}


CONNECTION_ROWS = [
    (
        "app missing",
        connection(app_id="999"),
        [("FieldValueNotFound", "spec.github.appID", "app not found")],
    ),
    (
        "installation missing",
        connection(installation="999999999"),
        [
            (
                "FieldValueInvalid",
                "spec.installationID",
                "invalid installation ID: 999999999",
            )
        ],
    ),
    (
        "key refused",
        connection(key=OTHER_KEY),
        [
            ("FieldValueInvalid", "spec.github.appID", "verify appID is correct"),
            ("FieldValueInvalid", "secure.privateKey", "verify privateKey is correct"),
        ],
    ),
]


@pytest.mark.parametrize(
    ("obj", "errors"), [row[1:] for row in CONNECTION_ROWS], ids=[row[0] for row in CONNECTION_ROWS]
)
async def test_a_connection_is_refused_in_a_dry_run_and_reported_once_it_exists(
    server, obj, errors
):
    await server.create(app(publicKey=PUBLIC))
    causes = await server.dry_run(obj)
    assert caused(causes) == [error[:2] for error in errors]
    await server.create(obj)
    assert told(await server.errors("connections", "conn")) == errors
    stored = await server.get("connections", "conn")
    assert stored["status"]["state"] == "Disconnected"
    await server.replace(connection())
    assert await server.errors("connections", "conn") == []
    stored = await server.get("connections", "conn")
    assert stored["status"]["state"] == "Connected"
    assert stored["spec"]["url"] == "https://github.com/settings/installations/42"


async def test_each_lacking_permission_is_one_error(server):
    granted = {"contents": "read", "metadata": "read", "pull_requests": "write"}
    await server.create(app(permissions=granted))
    causes = await server.dry_run(connection())
    assert [cause["reason"] for cause in causes] == ["FieldValueForbidden"] * 2
    await server.create(connection())
    details = [error["detail"] for error in await server.errors("connections", "conn")]
    assert details == [
        "GitHub App lacks required 'contents' permission: requires 'write', has 'read'",
        "GitHub App lacks required 'webhooks' permission: requires 'write', has ''",
    ]
    await server.edit(
        "githubapps", "123456", permissions={**granted, "contents": "write", "webhooks": "write"}
    )
    assert await server.errors("connections", "conn") == []


async def test_an_outage_of_github_reaches_connections(server):
    await server.create(host(outage={"code": 502}))
    await server.create(app())
    assert caused(await server.dry_run(connection())) == [("InternalError", "spec.github.appID")]
    await server.create(connection())
    assert (await server.errors("connections", "conn"))[0]["type"] == "InternalError"
    await server.edit("githosts", "github.com", outage=None)
    assert await server.errors("connections", "conn") == []


async def test_a_connection_that_turns_unhealthy_takes_its_repositories_along(server):
    await server.create(host(tokens=TOKENS))
    await server.create(app())
    await server.create(connection())
    await server.settled()
    obj = repository(connection={"name": "conn"}, **WRITE)
    assert await server.dry_run(obj) == []
    await server.create(obj)
    assert await server.errors("repositories") == []
    await server.edit("githubapps", "123456", installations=[])
    assert told(await server.errors("repositories")) == [
        ("FieldValueInvalid", "spec.connection.name", "connection is not healthy")
    ]
    assert caused(await server.dry_run(repository("b", connection={"name": "conn"}))) == [
        ("FieldValueInvalid", "spec.connection.name"),
        ("FieldValueDuplicate", "spec.github.path"),
    ]
    await server.edit("githubapps", "123456", installations=[{"id": "42"}])
    assert await server.errors("repositories") == []


async def test_a_repository_outside_the_installation_is_not_found(server):
    await server.create(host(tokens=TOKENS))
    await server.create(app(installations=[{"id": "42", "repositories": ["grafana/other"]}]))
    await server.create(connection())
    await server.create(repository(connection={"name": "conn"}))
    assert told(await server.errors("repositories")) == [
        ("FieldValueInvalid", "spec.github.url", "repository not found")
    ]


async def test_a_connection_in_use_must_stay_and_names_five_users(server):
    await server.create(host())
    await server.create(app())
    await server.create(connection())
    for number in range(7):
        spec = {"connection": {"name": "conn"}, "block": {"path": f"p{number}"}}
        await server.create(repository(f"r{number}", **spec))
    with pytest.raises(
        StatusError, match=r"referenced by 7 repository\(s\): \[r0 r1 r2 r3 r4\]"
    ) as refused:
        await server.delete("connections", "conn")
    assert refused.value.code == 422
    assert refused.value.details["causes"][0]["field"] == "metadata.name"
    for number in range(7):
        await server.delete("repositories", f"r{number}")
    await server.delete("connections", "conn")
