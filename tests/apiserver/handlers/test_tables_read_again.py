"""Table rows are cached as bytes, and equal those generated for each request."""

import boats
import pytest

from inkube import APIServer
from inkube.controllers.clock import FakeClock
from inkube.schemas import caches

TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
LATER = (0.0, 1.0, 59.0, 3_600.0, 7_200.0, 86_400.0, 40_000_000.0)
BORN = "2026-01-01T00:00:00Z"
_RESTARTED = {
    "name": "a", "restartCount": 2, "image": "a", "imageID": "a", "ready": True,
    "lastState": {"terminated": {"exitCode": 1, "finishedAt": BORN}},
}  # fmt: skip
_POD = {"containers": [{"name": "a", "image": "a"}]}
STATED = {
    "/api/v1/namespaces/default/pods": (
        {"spec": _POD}, {"phase": "Running", "containerStatuses": [_RESTARTED]}
    ),
    "/apis/batch/v1/namespaces/default/jobs": (
        {"spec": {"template": {"spec": {**_POD, "restartPolicy": "Never"}}}},
        {"startTime": BORN, "active": 1},
    ),
    "/apis/batch/v1/namespaces/default/cronjobs": (
        {"spec": {"schedule": "* * * * *", "jobTemplate": {"spec": {
            "template": {"spec": {**_POD, "restartPolicy": "Never"}}}}}},
        {"lastScheduleTime": BORN},
    ),
    "/api/v1/namespaces/default/configmaps": ({"data": {"a": "1"}}, None),
    "/api/v1/namespaces/default/events": (
        {"involvedObject": {"namespace": "default", "kind": "Pod", "name": "a"}, "reason": "R",
         "firstTimestamp": BORN, "lastTimestamp": "2026-01-01T00:59:00Z", "message": '"<é>"'},
        None,
    ),
    "/apis/example.com/v1/namespaces/default/boats": (
        {"apiVersion": "example.com/v1", "kind": "Boat",
         "spec": {"since": BORN, "until": "nonsense"}},
        None,
    ),
}  # fmt: skip
"""By collection: an object with several ages, if its kind has them, and its status."""


def boat_crd(*columns):
    schema = {
        "type": "object",
        "properties": {"spec": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
    }
    shown = [{"name": n, "type": kind, "jsonPath": path} for n, kind, path in columns]
    return boats.definition(schema, additionalPrinterColumns=shown)


DATES = (("Until", "date", ".spec.until"), ("Since", "date", ".spec.since"))


@pytest.fixture
def clock():
    return FakeClock()


@pytest.fixture
async def web(clock, web_of):
    async with APIServer(clock=clock, event_ttl=1e9) as server, web_of(server) as web:
        await server.client.create(boat_crd(*DATES))
        await server.settled()
        for path, (body, state) in STATED.items():
            made = await web.ask("POST", path, {"metadata": {"name": "a"}, **body})
            assert made.code == 201, made.json
            if state:
                stated = {**made.json, "status": made.json["status"] | state}
                answer = await web.ask("PUT", f"{path}/a/status", stated)
                assert answer.code == 200, answer.json
        yield web


async def same(web, path, include):
    """Return the table, after a comparison with one in a form whose rows are not cached."""
    query = f"?includeObject={include}"
    told = await web.ask("GET", path + query, Accept=TABLE)
    made = await web.ask("GET", f"{path}{query}&pretty=true", Accept=TABLE)
    assert told.code == 200
    table, other = told.json, made.json
    assert list(table) == list(other)
    del table["metadata"], other["metadata"]  # revisions of two different times
    assert table == other
    assert told.body.endswith(b"\n")
    return table


@pytest.mark.parametrize("path", list(STATED))
async def test_ages_in_cached_rows_are_current(web, clock, path):
    seen = set()
    for seconds in LATER:
        clock.advance(seconds)
        for include in ("", "Metadata", "Object", "None"):
            table = await same(web, path, include)
            seen.add(str([row["cells"] for row in table["rows"]]))
    assert len(seen) == len(LATER)


async def test_a_row_is_that_of_the_newest_revision(web):
    [path] = [each for each in STATED if each.endswith("/configmaps")]
    await same(web, path, "")
    await web.patch(f"{path}/a", {"data": {"b": "2"}})
    table = await same(web, path, "")
    assert [row["cells"][1] for row in table["rows"] if row["cells"][0] == "a"] == [2]
    await web.ask("DELETE", f"{path}/a")
    table = await same(web, path, "")
    assert "a" not in [row["cells"][0] for row in table["rows"]]


async def test_changed_columns_change_the_cached_rows(web):
    [path] = [each for each in STATED if each.endswith("/boats")]
    before = await same(web, path, "")
    crd = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/boats.example.com"
    changed = boat_crd(("Since", "string", ".spec.since"))
    await web.patch(crd, {"spec": {"versions": changed["spec"]["versions"]}})
    await web.server.settled()
    after = await same(web, path, "")
    assert len(before["rows"][0]["cells"]) == 3
    assert after["rows"][0]["cells"] == ["a", BORN]


async def test_a_long_table_comes_in_pieces_and_whole(web):
    path = "/api/v1/namespaces/default/configmaps"
    for number in range(400):
        meta = {"name": f"m-{number:03}", "annotations": {"text": "x" * 400}}
        assert (await web.ask("POST", path, {"metadata": meta})).code == 201
    assert len((await same(web, path, ""))["rows"]) > 400
    assert len((await same(web, path, ""))["rows"]) > 400


async def test_rows_are_kept_within_a_bound(web):
    kept = next(each for each in caches.every() if each.name == "apiserver.handlers.rows._MADE")
    kept.empty()
    for path in STATED:
        await same(web, path, "")
    assert len(STATED) <= kept.entries() <= kept.bound
    kept.empty()
    for path in STATED:
        await same(web, path, "")
