"""`inkube diff` of dumps, data files and moments."""

import asyncio
import json

import pytest
from click.testing import CliRunner

from inkube import APIServer
from inkube.apiserver.cli import main


def node(ready, reason):
    condition = {"type": "Ready", "status": ready, "reason": reason}
    meta = {"name": "one", "uid": "1", "resourceVersion": "200"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": meta,
        "status": {"conditions": [condition]},
    }


def listed(path, *items):
    for item in items:
        item["metadata"].setdefault("creationTimestamp", "2026-01-01T00:00:00Z")
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    return path


def diff(*arguments):
    done = CliRunner().invoke(main, ["diff", *map(str, arguments)])
    assert done.exit_code == 0, done.output
    return done.output


@pytest.fixture
def dumps(tmp_path, config_map):
    sky = config_map("sky", colour="blue")
    sea = {"metadata": {"name": "sea", "namespace": "default"}}
    first = listed(tmp_path / "first.json", sky, node("True", "KubeletReady"))
    second = listed(
        tmp_path / "second.json", {**sky, "data": {"colour": "grey"}},
        {**config_map("sea"), **sea}, node("False", "KubeletNotReady"),
    )  # fmt: skip
    return first, second


def test_two_dumps_are_compared(dumps):
    shown = diff(*dumps)
    assert "ADDED ConfigMap default/sea" in shown
    assert "    -  colour: blue\n    +  colour: grey" in shown
    assert shown.endswith("started to fail:\n    Node one: Ready is False: KubeletNotReady\n")
    rows = [json.loads(line) for line in diff(*dumps, "-o", "json").splitlines()]
    assert {row["type"] for row in rows} == {"ADDED", "MODIFIED"}
    assert [row["failing"] for row in rows if row["failing"]] == [
        ["Ready is False: KubeletNotReady"]
    ]
    assert diff(dumps[0], dumps[0]) == ""


async def test_a_dump_is_compared_with_a_moment_and_a_file(dumps, tmp_path, config_map):
    file = tmp_path / "a.db"
    async with APIServer(data=file, controllers=False, modules="none") as server:
        made = await server.client.create(config_map("sky", colour="red"))
    revision = made["metadata"]["resourceVersion"]
    for state in (revision, file):
        shown = await asyncio.to_thread(diff, state, dumps[0], "--data", file)
        assert "    -  colour: red\n    +  colour: blue" in shown
