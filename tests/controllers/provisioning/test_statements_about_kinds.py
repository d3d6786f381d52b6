"""Every row about rules and checks of provisioning in docs/documents.md matches the behavior.

`b1` tests row B1: it sends requests, whose codes and texts are those of the row.
"""

import pytest
import statements
from worldrequests import ALL, GONE, MERGE, URL, Requests, spec_of, token
from worlds import app, connection, host, repository

CONNECTIONS = ALL.replace("repositories", "connections")
WRITES = {"workflows": ["write"]}
NEVER = {"name": "never"}


def of_type(kind, **block):
    """Return a Repository of another type."""
    found = spec_of(type=kind, **{kind: block})
    del found["spec"]["github"]
    return found


async def refused(ask, texts, make):
    """Create objects that differ in one text, all of which are refused."""
    for text in texts:
        found = await ask.post(make(text))
        assert found.get("code") == 422, text


def block(**members):
    return spec_of(github={**URL, "branch": "main", **members})


async def b1(ask):
    await ask.post(spec_of(title=""))


async def b2(ask):
    await ask.server.create(repository())
    patch = {"spec": {"type": "git", "github": None, "git": {**URL, "branch": "main"}}}
    await ask("PATCH", f"{ALL}/a", patch, **MERGE)


async def b3(ask):
    await ask.post(spec_of(git={**URL, "branch": "main"}))


async def b4(ask):
    await ask.post(spec_of(github=None))


async def b5(ask):
    await ask.post(spec_of(github={"branch": "main"}))


async def b6(ask):
    await refused(ask, ["https://github.com", "https://github.com/o"], lambda url: block(url=url))


async def b7(ask):
    names = ["/a", "a/", "a.", "a.lock", "a..b", "a//b", "a b", "a~b"]
    await refused(ask, names, lambda name: block(branch=name))


async def b8(ask):
    await refused(ask, ["/a"], lambda path: block(path=path))


async def b9(ask):
    await refused(ask, ["a/../b", "./a"], lambda path: block(path=path))


async def b10(ask):
    await refused(ask, ["a//b"], lambda path: block(path=path))


async def b11(ask):
    await refused(ask, [".a", "a/.b/c"], lambda path: block(path=path))


async def b12(ask):
    await refused(ask, ["a%20b"], lambda path: block(path=path))


async def b13(ask):
    await refused(ask, ["a" * 1025], lambda path: block(path=path))


async def b14(ask):
    await ask.post(of_type("local", path="relative"))
    await ask.post(of_type("local", path="/etc"))


async def b15(ask):
    await ask.post(spec_of(sync={"enabled": True}))


async def b16(ask):
    await ask.post({**spec_of(workflows=["fly"]), "secure": token("t")})


async def b17(ask):
    found = of_type("local", path=str(ask.folder))
    found["spec"]["workflows"] = ["branch"]
    await ask.post(found)


async def b18(ask):
    found = spec_of(**WRITES, connection=NEVER)
    await ask.post({**found, "secure": token("t")})


async def b19(ask):
    await ask.post(spec_of(**WRITES))


async def b20(ask):
    await refused(ask, ["odd", "ftp://a.example"], lambda url: spec_of(webhook={"baseUrl": url}))


async def b21(ask):
    await ask.post(block(url="https://github.com/grafana/grafana.git/"))


async def b22(ask):
    await ask.post(spec_of(sync={"enabled": False, "intervalSeconds": 3}))


async def b23(ask):
    await ask.post(spec_of())


async def b24(ask):
    created = await ask.post({**spec_of(), "secure": token("hunter2")})
    assert list(created["secure"]["token"]) == ["name"]
    assert "hunter2" not in ask.text


async def b25(ask):
    await ask.server.edit("githosts", "github.com", tokens=[{"value": "good"}])
    created = await ask.post({**spec_of(), "secure": token("good")})
    del created["secure"]
    kept = await ask("PUT", f"{ALL}/a", created)
    assert kept["secure"]["token"]["name"]
    assert await ask.server.errors("repositories") == []


async def b26(ask):
    await ask.post({**spec_of(), "secure": token("t")})
    found = await ask("PATCH", f"{ALL}/a", {"secure": {"token": {"remove": True}}}, **MERGE)
    assert "token" not in found.get("secure", {})


async def b27(ask):
    found = connection()
    found["secure"]["privateKey"]["create"] = "not base64!"
    await ask.post(found, path=CONNECTIONS)


async def b28(ask):
    found = connection()
    found["secure"]["privateKey"]["create"] = "aGVsbG8="
    await ask.post(found, path=CONNECTIONS)


async def b29(ask):
    found = connection()
    found["secure"]["clientSecret"] = {"create": "x"}
    await ask.post(found, path=CONNECTIONS)


async def b30(ask):
    await ask.post(connection(app_id="twelve"), path=CONNECTIONS)
    await ask.post(connection(installation="x"), path=CONNECTIONS)


async def b31(ask):
    await ask.server.create(app())
    await ask.server.create(connection())
    await ask.post(spec_of(connection={"name": "conn"}))
    await ask("DELETE", f"{CONNECTIONS}/conn")


async def b32(ask):
    await ask.reported(spec_of(connection=NEVER))


async def b33(ask):
    await ask.server.create(connection(app_id="1"))
    await ask.server.settled()
    await ask.reported(spec_of(connection={"name": "conn"}))


async def b34(ask):
    tokens = [{"value": "reader", "write": False}]
    await ask.server.edit("githosts", "github.com", tokens=tokens)
    await ask.reported({**spec_of(**WRITES), "secure": token("reader")})


async def b35(ask):
    await ask.server.edit("githosts", "github.com", outage={"code": 429})
    await ask.reported(spec_of())


async def b36(ask):
    await ask.reported(connection(app_id="1"), path=CONNECTIONS)


async def b37(ask):
    await ask.server.create(app(permissions={"contents": "read", "metadata": "read"}))
    await ask.reported(connection(), path=CONNECTIONS)


async def b38(ask):
    await ask.reported(block(url="https://github.com/o/r", branch="main"))


async def b39(ask):
    await ask.server.create(repository(block=GONE))
    await ask.server.settled()
    before = await ask.server.get("repositories")
    await ask.server.recheck(600)
    await ask("GET", f"{ALL}/a")
    after = await ask.server.get("repositories")
    assert before["metadata"]["resourceVersion"] == after["metadata"]["resourceVersion"]


async def b40(ask):
    path = ask.folder / "late"
    await ask.reported(of_type("local", path=str(path)))
    path.mkdir()
    await ask.server.recheck(30)
    assert len(await ask.server.errors("repositories")) == 1
    await ask.server.recheck(30)
    assert await ask.server.errors("repositories") == []


async def b41(ask):
    await ask.server.create(repository(block=GONE))
    await ask.server.settled()
    await ask("PATCH", f"{ALL}/a", {"spec": {"github": {"branch": "dev"}}}, **MERGE)
    assert await ask.server.errors("repositories") == []


async def b42(ask):
    await ask.reported(spec_of())
    await ask("GET", f"{ALL}/a")


async def b43(ask):
    await ask.reported(block(**GONE))
    await ask("GET", f"{ALL}/a")


async def b44(ask):
    await ask.server.create(repository(block=GONE))
    await ask.server.settled()
    media = "application/json;as=Table;v=v1;g=meta.k8s.io"
    found = await ask("GET", ALL, Accept=media)
    assert [column["name"] for column in found["columnDefinitions"]] == [
        "Name", "Title", "Type", "Healthy", "Errors", "Age"
    ]  # fmt: skip


async def b45(ask):
    await ask.server.create(repository("a", connection=NEVER))
    await ask.server.create(repository("b", block={"path": "b"}))
    found = await ask("GET", f"{ALL}?fieldSelector=spec.connection.name%3Dnever")
    assert [each["metadata"]["name"] for each in found["items"]] == ["a"]


async def b46(ask):
    await ask("GET", f"{ALL}?fieldSelector=spec.title%3DA")


async def b47(ask):
    await ask("PUT", f"{ALL}/a", spec_of())
    await ask("PUT", f"{ALL}/a", spec_of(title="Other"))


async def b48(ask):
    await ask("PUT", f"{ALL}/a/status", spec_of())


async def b49(ask):
    found = connection()
    del found["metadata"]["name"]
    created = await ask.post(found, path=CONNECTIONS)
    assert created["metadata"]["name"].startswith("github-")


async def b50(ask):
    found = spec_of()
    del found["metadata"]["name"]
    await ask.post(found)


async def b51(ask):
    created = await ask.post({**spec_of(), "status": {"observedGeneration": 9}})
    assert "observedGeneration" not in created["status"]


async def b52(ask):
    await ask.server.create(repository())
    await ask.server.settled()
    await ask("DELETE", f"{ALL}/a")
    await ask.server.settled()
    await ask("GET", f"{ALL}/a")


async def b53(ask):
    await ask.server.create(repository(block={"path": "team"}))
    await ask.server.settled()
    await ask.reported(repository("b", block={"path": "team/own"}))


async def b54(ask):
    await ask.reported(of_type("git", url="https://elsewhere.example/o/r", branch="main"))


ROWS = statements.rows("Provisioning: rules and checks", "B", (";", ": the "))
STATEMENTS = statements.functions(globals())


def test_every_statement_has_a_row_and_every_row_is_tested():
    assert sorted(ROWS) == sorted(STATEMENTS)


@pytest.mark.parametrize("name", STATEMENTS)
async def test_the_server_answers_as_the_row_requires(provisioned, tmp_path, name):
    codes, texts = ROWS[name]
    async with provisioned(local_path_prefixes=[tmp_path]) as server:
        await server.create(host())
        ask = Requests(server, tmp_path)
        await STATEMENTS[name](ask)
    assert list(dict.fromkeys(ask.codes)) == codes, ask.text
    for text in texts:
        assert text in ask.text, ask.text
