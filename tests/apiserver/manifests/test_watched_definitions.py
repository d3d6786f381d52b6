"""Definition files are applied again when they change while a server runs (`watch_definitions`)."""

import asyncio
import contextlib
import logging
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from patience import within
from widgets import CRD

from inkube import APIServer, BadOption
from inkube.apiserver.manifests import pruning

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
    """Return the event with that reason and that text in its message."""
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


async def test_refused_objects_are_tried_again_when_their_crd_changes(tmp_path):
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
async def test_objects_without_a_file_are_deleted_only_with_the_option(tmp_path, prunes):
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


@contextlib.asynccontextmanager
async def warned(caplog, part):
    """Wait at the end of the block for a warning with that text."""
    heard = asyncio.Event()

    def hear(record):
        if part in record.getMessage():
            heard.set()
        return True

    caplog.handler.addFilter(hear)
    try:
        with caplog.at_level(logging.WARNING):
            yield
            async with within():
                await heard.wait()
    finally:
        caplog.handler.removeFilter(hear)


def moved_away(folder, file):
    folder.rename(folder.with_name("elsewhere"))


ACCIDENTS = {
    "the file becomes empty": lambda folder, file: file.write_text(""),
    "the file has only comments": lambda folder, file: file.write_text("# kind: Widget\n---\n"),
    "the file is deleted": lambda folder, file: file.unlink(),
    "the file is renamed": lambda folder, file: file.rename(file.with_suffix(".bak")),
    "the folder is gone": moved_away,
    "the folder is empty": lambda folder, file: [each.unlink() for each in folder.iterdir()],
}


@pytest.mark.parametrize("is_alone", [True, False])
@pytest.mark.parametrize("accident", ACCIDENTS)
async def test_files_removed_by_accident_delete_no_data_of_clients(
    tmp_path, caplog, accident, is_alone
):
    folder = tmp_path / "definitions"
    folder.mkdir()
    file = folder / "crd.yaml"
    file.write_text(CRD)
    if not is_alone:
        (folder / "map.yaml").write_text(MAP % ("a", "{}"))
    async with watched(folder, prune_definitions=True) as server:
        for name in ("of-a-client", "of-another"):
            await server.client.create(
                {
                    "apiVersion": "example.com/v1",
                    "kind": "Widget",
                    "metadata": {"name": name, "namespace": "default"},
                    "spec": {"size": 1},
                }
            )
        uid = (await server.client.get(CRDS, "widgets.example.com"))["metadata"]["uid"]
        async with warned(caplog, "to keep it" if told_later(accident, is_alone) else "stay"):
            ACCIDENTS[accident](folder, file)
        folder.mkdir(exist_ok=True)
        file.write_text(CRD + "---\n" + MAP % ("seen", "{}"))
        await seen(server, MAPS, "seen")  # the files were read again
        assert (await server.client.get(CRDS, "widgets.example.com"))["metadata"]["uid"] == uid
        assert len((await server.client.list(WIDGETS)).items) == 2
        caplog.clear()  # expected


def told_later(accident, is_alone):
    """Return whether the deletion is announced: other files of the source still say something."""
    return not is_alone and accident in ("the file is deleted", "the file is renamed")


async def test_an_announced_deletion_happens_after_its_event(tmp_path, caplog, monkeypatch):
    monkeypatch.setattr(pruning, "WAIT", 0.5)
    (tmp_path / "crd.yaml").write_text(CRD)
    (tmp_path / "map.yaml").write_text(MAP % ("a", "{}"))
    async with watched(tmp_path, prune_definitions=True) as server:
        meta = {"name": "of-a-client", "namespace": "default"}
        widget = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": meta}
        await server.client.create({**widget, "spec": {"size": 1}})
        async with warned(caplog, "1 objects of clients would be deleted with it"):
            (tmp_path / "crd.yaml").unlink()
        event = await told(server, "PruneAnnounced", "put it back into a file to keep it")
        assert event["involvedObject"]["name"] == "widgets.example.com"
        await absent(server, CRDS, "widgets.example.com")
    caplog.clear()  # expected


async def test_a_namespace_with_objects_of_clients_is_announced(tmp_path, caplog):
    space = "apiVersion: v1\nkind: Namespace\nmetadata: {name: %s}\n"
    (tmp_path / "one.yaml").write_text(space % "one")
    (tmp_path / "two.yaml").write_text(space % "two")
    (tmp_path / "map.yaml").write_text(MAP % ("a", "{}"))
    async with watched(tmp_path, prune_definitions=True) as server:
        meta = {"name": "of-a-client", "namespace": "one"}
        await server.client.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta})
        async with warned(caplog, "Namespace one: it is no longer in the files"):
            (tmp_path / "one.yaml").unlink()
            (tmp_path / "two.yaml").unlink()
        await absent(server, "v1/namespaces", "two")
        assert (await server.client.get(MAPS, "of-a-client", "one"))["metadata"]["uid"]
    caplog.clear()  # expected


NAMES = [pruning.ObjectName("", "ConfigMap", "default", f"m-{number}") for number in range(30)]


@given(steps=st.lists(st.tuples(st.sets(st.sampled_from(NAMES)), st.floats(0, 90)), max_size=12))
def test_no_mass_deletion_happens_at_once(steps):
    """Model: whatever is in files at which time, most objects are never deleted in one look unless
    every one of them was missing at every look of the minute before."""
    clock = 0.0
    unused: Any = None  # no kind in NAMES contains objects
    decides = pruning.Pruning(pruning.Contents(unused, unused), lambda: clock)
    applied = set(NAMES)
    missing_since: dict = {}
    for removed, seconds in steps:
        clock += seconds
        removed = removed & applied
        missing_since = {name: missing_since.get(name, clock) for name in removed}
        before = set(decides.announced)
        ready, new, returned = decides.look({name: {} for name in removed}, applied)
        assert set(ready) <= removed
        assert set(returned) == before - removed
        assert set(new) | before - set(returned) - set(ready) == set(decides.announced)
        late = {name for name in ready if clock - missing_since[name] >= pruning.WAIT}
        at_once = set(ready) - late
        assert len(at_once) <= pruning.FEW or 2 * len(at_once) <= len(applied)
        applied -= set(ready)
