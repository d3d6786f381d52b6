"""`at`: a server that shows a past state and refuses writes; exact reads of kept revisions."""

from datetime import UTC, datetime, timedelta

import pytest

from inkube import APIServer
from inkube.controllers.clock import SystemClock
from inkube.storage.errors import Compacted, FutureRevision

HERE = "/api/v1/namespaces/default/configmaps"


class Clock(SystemClock):
    """A clock whose date the test sets."""

    def __init__(self):
        self.moment = datetime(2026, 1, 31, 12, 0, tzinfo=UTC)

    def now(self):
        return self.moment


@pytest.fixture
async def lived(tmp_path, boat_crd, boat, config_map):
    """A file with a history: `blue`, `grey`, deleted."""
    file = tmp_path / "a.db"
    async with APIServer(data=file, keep_history=True) as server:
        await server.client.create(boat_crd)
        await server.settled()
        await server.client.create(boat("argo"))
        blue = await server.client.create(config_map("sky", colour="blue"))
        grey = await server.client.patch(
            "v1/configmaps", "sky", "default", patch={"data": {"colour": "grey"}}
        )
        await server.client.delete("v1/configmaps", "sky", "default")
        newest = server.store.revision
    return file, *(int(each["metadata"]["resourceVersion"]) for each in (blue, grey)), newest


async def test_a_past_state_is_served(lived, web_of):
    file, blue, grey, newest = lived
    for revision, colour in ((blue, "blue"), (grey, "grey")):
        async with APIServer(data=file, at=revision) as server, web_of(server) as web:
            found = await web.ask("GET", f"{HERE}/sky")
            assert found.json["data"] == {"colour": colour}
            boats = await web.ask("GET", "/apis/example.com/v1/boats")
            assert [item["metadata"]["name"] for item in boats.json["items"]] == ["argo"]
            assert boats.json["metadata"]["resourceVersion"] == str(revision)
    async with APIServer(data=file, at=newest) as server, web_of(server) as web:
        assert (await web.ask("GET", f"{HERE}/sky")).code == 404


async def test_the_past_takes_no_writes_and_answers_dry_runs(lived, web_of, config_map):
    file, blue, *_ = lived
    async with APIServer(data=file, at=blue) as server, web_of(server) as web:
        for method, path, body in (
            ("POST", HERE, config_map("new")),
            ("PUT", f"{HERE}/sky", config_map("sky")),
            ("DELETE", f"{HERE}/sky", None),
        ):
            refused = await web.ask(method, path, body)
            assert (refused.code, refused.json["reason"]) == (405, "MethodNotAllowed")
            assert f"shows revision {blue}" in refused.json["message"]
        assert (await web.ask("POST", f"{HERE}?dryRun=All", config_map("new"))).code == 201
        assert (await web.ask("GET", "/readyz")).body == b"ok"
        assert server.store.revision == blue
    async with APIServer(data=file) as server:
        assert server.store.revision >= lived[-1]


async def test_a_time_is_as_good_as_a_revision(tmp_path, web_of, config_map):
    file, clock = tmp_path / "a.db", Clock()
    async with APIServer(data=file, keep_history=True, clock=clock) as server:
        await server.client.create(config_map("sky", colour="blue"))
        clock.moment += timedelta(minutes=2)
        await server.client.patch(
            "v1/configmaps", "sky", "default", patch={"data": {"colour": "grey"}}
        )
    then = clock.moment - timedelta(minutes=1)
    async with APIServer(data=file, at=then) as server, web_of(server) as web:
        assert (await web.ask("GET", f"{HERE}/sky")).json["data"] == {"colour": "blue"}


async def test_moments_that_cannot_be_shown_are_refused(lived, tmp_path):
    file, *_, newest = lived
    with pytest.raises(FutureRevision):
        await APIServer(data=file, at=newest + 1000).__aenter__()
    with pytest.raises(Compacted):
        await APIServer(data=file, at=1).__aenter__()
    for options, told in (
        ({}, "needs stored data"),
        ({"data": tmp_path / "none.db"}, "does not exist"),
        ({"data": file, "workloads": True}, "workloads needs writes"),
    ):
        with pytest.raises(ValueError, match=told):
            APIServer(at=newest, **options)


@pytest.mark.asyncio(loop_scope="module")
async def test_an_object_is_read_at_an_exact_revision(web, config_map):
    made = await web.ask("POST", HERE, config_map("exact", a="1"))
    first = int(made.json["metadata"]["resourceVersion"])
    changed = await web.patch(f"{HERE}/exact", {"data": {"a": "2"}})
    second = int(changed.json["metadata"]["resourceVersion"])
    await web.ask("DELETE", f"{HERE}/exact")

    async def exactly(revision):
        query = f"resourceVersion={revision}&resourceVersionMatch=Exact"
        return await web.ask("GET", f"{HERE}/exact?{query}")

    assert (await exactly(first)).json["data"] == {"a": "1"}
    assert (await exactly(second)).json["data"] == {"a": "2"}
    assert (await exactly(first - 1)).code == 404
    assert (await exactly(1)).json["reason"] == "Expired"
    assert (await exactly(10**9)).code == 504
    assert (await web.ask("GET", f"{HERE}/exact")).code == 404
