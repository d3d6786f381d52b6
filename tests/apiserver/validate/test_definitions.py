"""Definitions from where they are: every place says the same about an object."""

import asyncio
import gzip
import json

import boats
import pytest

from inkube.apiserver.capture import CaptureScope, Cluster
from inkube.apiserver.capture.capture import capture
from inkube.apiserver.server import APIServer

SPEC = {
    "type": "object",
    "required": ["size"],
    "properties": {
        "size": {"type": "integer", "minimum": 1},
        "port": {"oneOf": [{"type": "string"}, {"type": "integer"}]},
        "any": {"type": "object"},
    },
}
_SERVED = {
    **SPEC["properties"],
    "port": {"x-kubernetes-int-or-string": True},
    "any": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
}
CRD = boats.definition(
    {"type": "object", "properties": {"spec": {**SPEC, "properties": _SERVED}}},
    "Raft",
    group="example.org",
)
RAFT = """\
apiVersion: example.org/v1
kind: Raft
metadata: {name: a}
spec: {size: %s, port: %s, any: {a: 1}%s}
"""
RAFTS = (RAFT % (0, "http", ""), RAFT % (2, "80", ", bogus: 1"), RAFT % (3, "80", ""))
EXPECTED = ["a.yaml:4:14 invalid", "b.yaml:4:40 unknown-field"]
OBJECT = {"type": "object", "properties": {"spec": SPEC, "metadata": {"type": "object"}}}
"""A schema as catalogues have it, with `additionalProperties` as their converter adds it."""
KIND = {"group": "example.org", "version": "v1", "kind": "Raft"}
COMPONENTS = {
    "org.example.v1.Raft": {
        "type": "object",
        "x-kubernetes-group-version-kind": [KIND],
        "properties": {"spec": {"allOf": [{"$ref": "#/%s/Spec"}]}},
    },
    "Spec": SPEC,
}


def components(root):
    return json.loads(json.dumps(COMPONENTS).replace("%s", root))


PLACES = {
    "crds/raft.json": CRD,
    "catalogue/example.org/raft_v1.json": {**OBJECT, "additionalProperties": False},
    "v3.json": {"openapi": "3.0.0", "components": {"schemas": components("components/schemas")}},
    "v2.json": {"swagger": "2.0", "definitions": components("definitions")},
}


def check(run, *places):
    files = dict(zip(("a.yaml", "b.yaml", "c.yaml"), RAFTS, strict=True))
    given = [argument for place in places for argument in ("-d", place)]
    done = run("-oshort", *files, *given, files=files)
    assert done.places == EXPECTED
    assert "should be greater than or equal to 1" in done.out


@pytest.mark.parametrize("path", PLACES)
def test_a_file_or_its_folder_defines_kinds(run, tmp_path, path):
    file = tmp_path / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(PLACES[path]))
    check(run, path)
    if "/" in path:
        check(run, path.partition("/")[0])


async def test_a_snapshot_defines_kinds(run, tmp_path):
    async with APIServer(definitions=[CRD]) as server:
        await (await server.snapshot()).save(tmp_path / "saved.db")
    await asyncio.to_thread(check, run, "saved.db")


async def test_a_capture_defines_kinds_and_so_does_a_file_of_any_size(run, tmp_path, monkeypatch):
    monkeypatch.setattr("inkube.apiserver.validate.files.MOST", 500)
    async with APIServer(definitions=[CRD]) as server:
        (tmp_path / "config").write_text(server.kubeconfig())
        async with Cluster(tmp_path / "config") as cluster:
            await capture(cluster, tmp_path / "captured.db", CaptureScope(), report=print)
    await asyncio.to_thread(check, run, "captured.db")


def test_an_object_is_right_if_one_of_several_definitions_accepts_it(run):
    """A repository has the CRDs of old releases among its test data."""
    old = json.loads(json.dumps(CRD).replace('"port"', '"gate"'))
    files = {
        "new/crd.json": json.dumps(CRD),
        "old/crd.json": json.dumps(old),
        "a.yaml": RAFT % (3, "80", ""),
        "b.yaml": RAFT.replace("port:", "gate:") % (3, "80", ""),
        "c.yaml": RAFT % (0, "80", ", gate: 80"),
    }
    for given in ((), ("-d", "new"), ("-d", "old")):
        done = run("-oshort", *given, files=files)
        assert [place.partition(":")[0] for place in done.places] == ["c.yaml", "c.yaml"]
    done = run("-oshort", "a.yaml", "b.yaml", "-d", "new")
    assert done.places == ["b.yaml:4:17 unknown-field"]


def test_a_dump_defines_kinds(run, tmp_path):
    """Of must-gather, which has a file for each CRD, and of `kubectl get crds -o json`."""
    name = f"{CRD['metadata']['name']}.yaml"
    folder = "dump/cluster-scoped-resources/apiextensions.k8s.io/customresourcedefinitions"
    (tmp_path / folder).mkdir(parents=True)
    (tmp_path / folder / name).write_text(f"---\n{json.dumps(CRD)}")
    listed = {"apiVersion": "v1", "kind": "List", "items": [CRD]}
    (tmp_path / "list.json.gz").write_bytes(gzip.compress(json.dumps(listed).encode()))
    check(run, "dump")
    check(run, "list.json.gz")


async def test_a_running_server_defines_kinds(run, tmp_path):
    async with APIServer(definitions=[CRD]) as server:
        await asyncio.to_thread(check, run, server.url)
        document = f"{server.url}/openapi/v3/apis/example.org/v1"
        await asyncio.to_thread(check, run, document)


def test_a_recursive_schema_ends(run):
    schemas = components("components/schemas")
    inner = {"$ref": "#/components/schemas/Spec"}
    schemas["Spec"] = {**SPEC, "properties": {**SPEC["properties"], "self": inner}}
    document = {"openapi": "3.0.0", "components": {"schemas": schemas}}
    files = {"v3.json": json.dumps(document), "a.yaml": RAFT % (1, "a", ", self: {size: 0}")}
    assert run("-oshort", "a.yaml", "-d", "v3.json", files=files).places == ["a.yaml:4:52 invalid"]


def test_an_address_without_a_server_is_bad_input(run):
    done = run("a.yaml", "-d", "http://127.0.0.1:1", files={"a.yaml": RAFTS[2]})
    assert done.code == 2
    assert "http://127.0.0.1:1/apis/apiextensions.k8s.io" in done.err
