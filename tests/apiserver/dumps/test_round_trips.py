"""Import → serve → the same objects and logs, for each format, from dumps of a running server."""

import dumps
import pytest
from click.testing import CliRunner

from inkube import APIServer
from inkube.apiserver.cli import main
from inkube.apiserver.dumps import ImportOptions, import_dump
from inkube.storage import Attachments

POD = "/api/v1/namespaces/default/pods/web"


async def imported(source, file, **options):
    return await import_dump(source, file, ImportOptions(**options), report=lambda *_: None)


@pytest.mark.parametrize("tool", dumps.ALL)
async def test_a_dump_is_served_as_it_was(tool, live, web_of, tmp_path):
    async with web_of(live) as web:
        kinds = await dumps.kinds_of(web)
    source = dumps.ALL[tool](kinds, dumps.LOGS, tmp_path)
    found = await imported(source, tmp_path / "a.db")
    assert found.dump.tool == dumps.TOOLS[tool]
    assert [line.reason for line in found.findings if "Secrets" in line.reason]
    at = found.dump.revision
    async with (
        APIServer(data=tmp_path / "a.db", at=at, modules="none") as copy,
        web_of(copy) as web,
    ):
        there = dumps.shown(await dumps.kinds_of(web))
        assert there == dumps.shown(kinds)
        if tool in dumps.WITH_LOGS:
            log = await web.ask("GET", f"{POD}/log?container=main&tailLines=2")
            assert log.body.decode() == "line 58\nline 59\n"
    assert found.logs == (len(dumps.LOGS) if tool in dumps.WITH_LOGS else 0)
    assert not found.generated
    assert not found.counts.renumbered


async def test_secrets_are_imported_on_request(live, web_of, tmp_path):
    async with web_of(live) as web:
        source = dumps.velero(await dumps.kinds_of(web), [], tmp_path)
    await imported(source, tmp_path / "a.db", secrets=True)
    async with APIServer(data=tmp_path / "a.db", controllers=False) as copy:
        assert (await copy.client.get("v1/secrets", "key", "default"))["data"] == {"a": "Yg=="}


async def test_kinds_without_a_definition_are_served_as_they_are(live, web_of, tmp_path):
    async with web_of(live) as web:
        kinds = [each for each in await dumps.kinds_of(web) if "crd" not in each.kind.lower()]
    kinds = [each for each in kinds if each.kind != "CustomResourceDefinition"]
    found = await imported(dumps.kubectl_yaml(kinds, [], tmp_path), tmp_path / "a.db")
    assert list(found.generated) == ["boats.example.com"]
    at = found.dump.revision
    async with APIServer(data=tmp_path / "a.db", at=at) as copy, web_of(copy) as web:
        boat = (await web.ask("GET", "/apis/example.com/v1/namespaces/default/boats/argo")).json
        assert boat == next(each for each in kinds if each.kind == "Boat").items[0]


QUERIES = {
    "container=main&tailLines=1": "line 59\n",
    "container=main&tailLines=1&timestamps=true": "2026-11-26T20:59:00.5Z line 59\n",
    "container=main&sinceTime=2026-11-26T20:58:30Z": "line 59\n",
    "container=main&previous=true": "crashed\n",
    "container=main&limitBytes=9": "line 0\nli",
    "container=main&tailLines=0": "",
    "container=main&tailLines=1&follow=true": "line 59\n",
    "container=side": "no times here\nsecond line",
    "container=side&tailLines=1": "second line",
    "container=side&sinceSeconds=1": "no times here\nsecond line",
    "container=side&timestamps=true": "no times here\nsecond line",
}


async def test_logs_are_served_as_a_kubelet_does(live, web_of, tmp_path):
    async with web_of(live) as web:
        source = dumps.must_gather(await dumps.kinds_of(web), dumps.LOGS, tmp_path)
    await imported(source, tmp_path / "a.db")
    async with APIServer(data=tmp_path / "a.db", controllers=False) as copy, web_of(copy) as web:
        for query, expected in QUERIES.items():
            assert (await web.ask("GET", f"{POD}/log?{query}")).body.decode() == expected, query
        missing = await web.ask("GET", f"{POD}/log?container=side&previous=true")
        assert (missing.code, missing.json["message"]) == (
            400, 'the dump contains no previous log of container "side" in pod "web"',
        )  # fmt: skip


def test_a_snapshot_has_the_logs_of_a_dump(tmp_path):
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web", "namespace": "default"}}
    web = dumps.Listed("", "v1", "pods", "Pod", [pod])
    source = dumps.crust_gather([web], dumps.LOGS, tmp_path)
    file, saved = tmp_path / "a.db", tmp_path / "b.db"
    for command in (
        ["import", str(source), "--data", str(file)],
        ["snapshot", "save", str(saved), "--data", str(file)],
    ):  # fmt: skip
        done = CliRunner().invoke(main, command)
        assert done.exit_code == 0, done.output
    names = Attachments(file).names("")
    assert len(names) == len(dumps.LOGS)
    assert Attachments(saved).names("") == names


async def test_two_dumps_are_one_history(live, web_of, tmp_path):
    file = tmp_path / "a.db"
    async with web_of(live) as web:
        first = await imported(dumps.kubectl_json(await dumps.kinds_of(web), [], tmp_path), file)
        await live.client.patch("v1/configmaps", "sky", "default", patch={"data": {"sky": "grey"}})
        await live.client.delete("v1/nodes", "one")
        kinds = await dumps.kinds_of(web)
    without_hpa = [each for each in kinds if each.group != "autoscaling"]
    source = dumps.kubectl_json(without_hpa, [], tmp_path)
    second = await imported(source, file, append=True)
    counts = second.counts
    assert (counts.added, counts.changed, counts.deleted) == (0, 1, 0)
    assert counts.kept == 2  # the HPA and, as the dump has no list of nodes, the node
    for found, colour in ((first, {"colour": "blue"}), (second, {"colour": "blue", "sky": "grey"})):
        async with APIServer(data=file, at=found.dump.revision) as copy:
            assert (await copy.client.get("v1/configmaps", "sky", "default"))["data"] == colour
