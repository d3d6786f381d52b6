"""componentstatuses contains the three components of a control plane with their current health."""

import aiohttp
import pytest

from inkube import APIServer

PATH = "/api/v1/componentstatuses"
TABLE = {"Accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}


async def ask(server, path, **headers):
    async with (
        aiohttp.ClientSession() as session,
        session.get(server.url + path, headers=headers) as answer,
    ):
        return answer.status, await answer.json()


async def test_all_three_components_are_listed():
    async with APIServer() as server:
        code, found = await ask(server, PATH)
        assert (code, found["kind"]) == (200, "ComponentStatusList")
        assert {*found["items"][0]} == {"metadata", "conditions"}
        told = {item["metadata"]["name"]: item["conditions"] for item in found["items"]}
        well = [{"type": "Healthy", "status": "True", "message": "ok"}]
        assert told["controller-manager"] == told["etcd-0"] == well
        [condition] = told["scheduler"]
        assert condition["status"] == "False"
        assert condition["message"].endswith("127.0.0.1:10259: connect: connection refused")
        code, one = await ask(server, f"{PATH}/etcd-0")
        assert (one["kind"], one["conditions"]) == ("ComponentStatus", well)


@pytest.mark.parametrize(
    ("options", "well"),
    [
        ({"controllers": False}, ["etcd-0"]),
        ({"workloads": True}, ["controller-manager", "scheduler", "etcd-0"]),
    ],
)
async def test_a_component_is_well_where_it_runs(options, well):
    async with APIServer(**options) as server:
        _, table = await ask(server, PATH, **TABLE)
        assert [c["name"] for c in table["columnDefinitions"]] == [
            "Name",
            "Status",
            "Message",
            "Error",
        ]
        rows = [row["cells"][:2] for row in table["rows"]]
        assert [name for name, state in rows if state == "Healthy"] == well
        assert len(rows) == 3


async def test_what_is_no_component_is_not_found():
    async with APIServer() as server:
        code, found = await ask(server, f"{PATH}/none")
        assert (code, found["message"]) == (500, "Component not found: none")


async def test_a_label_selector_selects_component_statuses():
    async with APIServer() as server:
        _, found = await ask(server, f"{PATH}?fieldSelector=metadata.name%3Dscheduler")
        assert [item["metadata"]["name"] for item in found["items"]] == ["scheduler"]
        _, found = await ask(server, f"{PATH}?labelSelector=a%3Db")
        assert found["items"] == []


async def test_the_storage_is_unhealthy_while_the_log_fails(monkeypatch):
    async with APIServer() as server:
        monkeypatch.setattr(type(server.store), "failure", "the disk is full")
        code, found = await ask(server, f"{PATH}/etcd-0")
        assert code == 200
        failed = {"type": "Healthy", "status": "False", "message": "the disk is full"}
        assert found["conditions"] == [failed]


@pytest.mark.parametrize(
    ("include", "kind"), [("", "PartialObjectMetadata"), ("Object", "ComponentStatus")]
)
async def test_rows_of_a_table_contain_what_the_client_asks_for(include, kind):
    async with APIServer() as server:
        _, found = await ask(server, f"{PATH}?includeObject={include}", **TABLE)
        assert {row["object"]["kind"] for row in found["rows"]} == {kind}
        _, found = await ask(server, f"{PATH}?includeObject=None", **TABLE)
        assert [row["object"] for row in found["rows"]] == [None] * 3
