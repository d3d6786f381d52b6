"""Definition files are applied again when they change while a server runs (`watch_definitions`)."""

import asyncio
import logging

import pytest
from patience import within
from widgets import CRD

from inkube import APIServer, BadOption

CRDS = "apiextensions.k8s.io/v1/customresourcedefinitions"
EVENTS = "v1/events"
MAPS = "v1/configmaps"
WIDGETS = "example.com/v1/widgets"
WIDGET = "apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: a}\nspec: {size: %s}\n"
MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s}\ndata: %s\n"


def watched(folder, **options):
    return APIServer(definitions=[folder], watch_definitions=True, **options)


async def seen(server, resource, name, fits=lambda obj: True):
    """Wait until the object meets a condition, checked after every change; return it."""
    async with within():
        async for event in server.client.watch(resource):
            obj = event.object
            if event.type == "DELETED" and obj["metadata"]["name"] == name and fits(None):
                return None
            is_state = event.type in ("ADDED", "MODIFIED")
            if is_state and obj["metadata"]["name"] == name and fits(obj):
                return obj
    raise AssertionError("a watch ended")


async def absent(server, resource, name):
    """Wait until the object does not exist."""
    async with within():
        while name in {
            each["metadata"]["name"] for each in (await server.client.list(resource)).items
        }:
            await server.store.reached(server.store.revision + 1)


async def told(server, reason, part):
    """The event with that reason and that text in its message."""
    async with within():
        async for event in server.client.watch(EVENTS):
            if event.object.get("reason") == reason and part in event.object["message"]:
                return event.object
    raise AssertionError("a watch ended")


async def test_a_changed_file_changes_its_object_and_an_event_names_the_members(tmp_path):
    file = tmp_path / "map.yaml"
    file.write_text(MAP % ("a", "{one: '1', two: '2'}"))
    async with watched(tmp_path) as server:
        file.write_text(MAP % ("a", "{one: '3'}"))
        found = await seen(server, MAPS, "a", lambda obj: obj and obj["data"].get("one") == "3")
        assert found["data"] == {"one": "3"}
        event = await told(server, "Applied", "data.one, data.two")
        assert event["involvedObject"]["name"] == "a"
        assert event["source"] == {"component": "inkube-definitions"}


async def test_members_that_others_wrote_stay(tmp_path):
    file = tmp_path / "map.yaml"
    file.write_text(MAP % ("a", "{one: '1'}"))
    async with watched(tmp_path) as server:
        await server.client.patch(MAPS, "a", "default", patch={"data": {"theirs": "yes"}})
        file.write_text(MAP % ("a", "{one: '2'}"))
        found = await seen(server, MAPS, "a", lambda obj: obj and obj["data"]["one"] == "2")
        assert found["data"] == {"one": "2", "theirs": "yes"}


async def test_a_new_file_with_a_kind_and_its_object_is_taken_in(tmp_path):
    async with watched(tmp_path) as server:
        (tmp_path / "a-object.yaml").write_text(WIDGET % 1)
        (tmp_path / "crd.yaml").write_text(CRD)
        await seen(server, CRDS, "widgets.example.com")
        event = await told(server, "Applied", "a-object.yaml")
        assert event["involvedObject"]["kind"] == "Widget"
        assert (await server.client.get(WIDGETS, "a", "default"))["spec"] == {"size": 1}


async def test_what_was_refused_is_tried_again_when_its_crd_changes(tmp_path):
    crd = tmp_path / "crd.yaml"
    crd.write_text(CRD)
    async with watched(tmp_path) as server:
        (tmp_path / "object.yaml").write_text(WIDGET % "big")
        event = await told(server, "Refused", "spec.size")
        assert event["type"] == "Warning"
        assert event["involvedObject"]["name"] == "a"
        crd.write_text(CRD.replace("size: {type: integer}", "size: {type: string}"))
        await told(server, "Applied", "object.yaml")
        assert (await server.client.get(WIDGETS, "a", "default"))["spec"] == {"size": "big"}


async def test_a_file_that_cannot_be_read_is_logged_and_removes_nothing(tmp_path, caplog):
    file = tmp_path / "map.yaml"
    file.write_text(MAP % ("a", "{}"))
    async with watched(tmp_path, prune_definitions=True) as server:
        heard = asyncio.Event()

        def hear(record):
            heard.set()
            return True

        caplog.handler.addFilter(hear)
        with caplog.at_level(logging.WARNING):
            file.write_text("kind: [")
            async with within():
                await heard.wait()
        assert "map.yaml: document 1" in caplog.text
        file.write_text(MAP % ("a", "{one: '1'}"))
        found = await seen(server, MAPS, "a", lambda obj: obj and obj.get("data"))
        assert found["metadata"]["uid"]


@pytest.mark.parametrize("prunes", [False, True])
async def test_what_no_file_has_is_deleted_only_when_asked(tmp_path, prunes):
    gone, stays = tmp_path / "gone.yaml", tmp_path / "stays.yaml"
    gone.write_text(MAP % ("a", "{}"))
    stays.write_text(MAP % ("b", "{}"))
    async with watched(tmp_path, prune_definitions=prunes) as server:
        gone.unlink()
        stays.write_text(MAP % ("b", "{one: '1'}"))
        if prunes:
            await absent(server, MAPS, "a")
        await seen(server, MAPS, "b", lambda obj: obj and obj.get("data"))
        names = {each["metadata"]["name"] for each in (await server.client.list(MAPS)).items}
        assert ("a" in names) is not prunes


async def test_an_object_that_moves_to_another_file_is_the_same(tmp_path):
    (tmp_path / "one.yaml").write_text(MAP % ("a", "{}"))
    async with watched(tmp_path, prune_definitions=True) as server:
        uid = (await server.client.get(MAPS, "a", "default"))["metadata"]["uid"]
        (tmp_path / "two.yaml").write_text(MAP % ("a", "{one: '1'}"))
        (tmp_path / "one.yaml").unlink()
        found = await seen(server, MAPS, "a", lambda obj: obj and obj.get("data"))
        assert found["metadata"]["uid"] == uid


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"watch_definitions": True}, "watch_definitions"),
        ({"definitions": ["a"], "prune_definitions": True}, "prune_definitions"),
        ({"definitions": ["a"], "watch_definitions": True, "at": 1}, "watch_definitions"),
    ],
)
def test_options_that_do_not_fit_together_are_refused(options, named):
    with pytest.raises(BadOption) as refused:
        APIServer(**options)
    assert refused.value.name == named
