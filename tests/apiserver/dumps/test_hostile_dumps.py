"""Sources that are damaged, hostile or unusual: a reason for each part, and limits that hold."""

import asyncio
import gzip
import io
import json
import shutil
import subprocess
import sys
import tarfile

import dumps
import pytest
from patience import SECONDS

from inkube import APIServer
from inkube.apiserver.dumps import DumpError, ImportOptions, import_dump

GOOD = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "b"}}


async def imported(source, file, **options):
    return await import_dump(source, file, ImportOptions(**options), report=lambda *_: None)


def archive(path, members, mode="w"):
    """Return a tar archive with the texts, by name."""
    with tarfile.open(path, mode) as target:
        for name, text in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(text)
            target.addfile(info, io.BytesIO(text))
    return path


def identities(objects):
    members = "uid", "resourceVersion", "creationTimestamp"
    return {name: [one["metadata"][each] for each in members] for name, one in objects.items()}


def reasons(found):
    return {line.reason: (line.parts, line.example) for line in found.findings}


async def test_paths_that_leave_an_archive_are_not_read(tmp_path):
    good = json.dumps(GOOD).encode()
    members = {"../../evil.json": good, "/etc/evil.json": good, "good.json": good}
    found = await imported(archive(tmp_path / "a.tar", members), tmp_path / "a.db")
    assert reasons(found) == {"its path leaves the archive": (2, "a.tar/../../evil.json")}
    assert found.counts.by_kind == {"ConfigMap": 1}


async def test_links_that_lead_out_of_a_folder_are_not_read(tmp_path):
    folder = tmp_path / "dump"
    folder.mkdir()
    (tmp_path / "secret.json").write_text(json.dumps({**GOOD, "metadata": {"name": "evil"}}))
    (folder / "link.json").symlink_to(tmp_path / "secret.json")
    (tmp_path / "outside").mkdir()
    (folder / "links").symlink_to(tmp_path / "outside")
    (folder / "good.json").write_text(json.dumps(GOOD))
    (folder / "same.json").symlink_to(folder / "good.json")
    found = await imported(folder, tmp_path / "a.db")
    assert reasons(found) == {"a link that leads out of the folder": (2, "link.json")}
    assert found.counts.by_kind == {"ConfigMap": 1}


async def test_an_archive_that_expands_without_end_is_refused(tmp_path):
    source = tmp_path / "bomb.json.gz"
    source.write_bytes(gzip.compress(b'{"a": "' + b"x" * 2**24))
    with pytest.raises(DumpError, match="GiB after decompression"):
        await imported(source, tmp_path / "a.db", max_size=2**20)
    assert not (tmp_path / "a.db").exists()


async def test_archives_inside_each_other_have_a_limit(tmp_path):
    inner = json.dumps(GOOD).encode()
    for _ in range(6):
        inner = gzip.compress(inner)
    members = {"deep.json": inner, "good.json": json.dumps(GOOD).encode()}
    found = await imported(archive(tmp_path / "a.tar", members), tmp_path / "a.db")
    assert list(reasons(found)) == ["an archive inside 4 others"]


BROKEN = {
    "JSON that is nested too deeply": b'{"a":' + b"[" * 200_000,
    "invalid JSON": b'{"kind": "Pod", ',
    "text that is not UTF-8": b'{"kind": "\xff\xfe"}',
    "larger than 32 MiB": b'{"a": "' + b"x" * (33 * 2**20),
    "an object without an apiVersion or a kind": b'{"metadata": {"name": "a"}}',
    "a Pod without a name is no stored object": b'{"apiVersion": "v1", "kind": "Pod"}',
    "an item that is no object": b'{"kind": "List", "apiVersion": "v1", "items": [1]}',
    "no Kubernetes object": b"just text",
    "yaml: exceeded maximum nesting depth": b"a: " + b"[" * 10_000,
    "yaml: document contains excessive aliasing": b"a: &a [x,x,x,x,x,x,x,x,x]\n"
    + b"".join(
        b"%c: &%c [%s]\n" % (n + 1, n + 1, b",".join([b"*%c" % n] * 9)) for n in range(97, 105)
    ),
    "binary content of no known form": b"\x7fELF\0\0\0\0",
}


@pytest.mark.parametrize("reason", BROKEN)
async def test_a_broken_file_is_a_reason_and_others_are_read(reason, tmp_path):
    name = "bad.json" if BROKEN[reason][:1] in b"{\x7f" else "bad.yaml"
    members = {name: BROKEN[reason], "good.json": json.dumps(GOOD).encode()}
    found = await imported(archive(tmp_path / "a.tar.gz", members, "w:gz"), tmp_path / "a.db")
    (told,) = reasons(found)
    assert told.startswith(reason)
    assert found.counts.by_kind == {"ConfigMap": 1}


async def test_later_changes_of_crust_gather_are_named(tmp_path):
    path = "crust-gather/cluster/v1/node/one.patch"
    members = {path: b"[]\n", "good.json": json.dumps(GOOD).encode()}
    found = await imported(archive(tmp_path / "a.tar", members), tmp_path / "a.db")
    reason = "later changes of an object, which crust-gather has recorded (sync)"
    assert reasons(found) == {reason: (1, path)}


async def test_an_archive_that_is_cut_off_is_read_up_to_there(tmp_path):
    good = {
        f"{n}.json": json.dumps({**GOOD, "metadata": {"name": f"n{n}"}}).encode() for n in range(50)
    }
    source = archive(tmp_path / "a.tar", {**good, "end": b"x" * 10_000})
    source.write_bytes(source.read_bytes()[:-15_000])
    found = await imported(source, tmp_path / "a.db")
    assert sum(found.counts.by_kind.values()) >= 40
    assert any("damaged archive" in reason for reason in reasons(found))


async def test_a_source_without_objects_is_an_error_with_a_reason(tmp_path):
    source = tmp_path / "photo.json"
    source.write_bytes(b"\x89PNG\0\0")
    with pytest.raises(DumpError, match=r"contains no objects of a cluster: photo\.json: binary"):
        await imported(source, tmp_path / "a.db")
    assert not (tmp_path / "a.db").exists()


async def test_dumps_in_the_wrong_order_are_refused(tmp_path):
    for name, year in (("old", 2020), ("new", 2021)):
        meta = {"name": "a", "creationTimestamp": f"{year}-01-01T00:00:00Z"}
        (tmp_path / name).write_text(json.dumps({**GOOD, "metadata": meta}))
    await imported(tmp_path / "new", tmp_path / "a.db")
    with pytest.raises(DumpError, match="append dumps in the order of time"):
        await imported(tmp_path / "old", tmp_path / "a.db", append=True)


async def test_a_file_of_a_server_is_not_appended_to(tmp_path, config_map):
    async with APIServer(data=tmp_path / "a.db") as server:
        await server.client.create(config_map("a"))
    (tmp_path / "dump.json").write_text(json.dumps(GOOD))
    with pytest.raises(DumpError, match="--append needs a file that inkube import has made"):
        await imported(tmp_path / "dump.json", tmp_path / "a.db", append=True)


def test_standard_input_is_read(tmp_path):
    source = archive(tmp_path / "a.tar.gz", {"good.json": json.dumps(GOOD).encode()}, "w:gz")
    command = [sys.executable, "-m", "inkube", "import", "-", "--data", str(tmp_path / "a.db")]
    with source.open("rb") as file:
        done = subprocess.run(
            command, stdin=file, capture_output=True, text=True, timeout=SECONDS, check=False
        )
    assert done.returncode == 0, done.stderr
    assert "1 objects of 1 kinds" in done.stdout


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not installed")
@pytest.mark.parametrize("form", ["folder", "text"])
async def test_the_dump_of_kubectl_itself_is_read(form, live, web_of, tmp_path):
    config = tmp_path / "config"
    config.write_text(live.kubeconfig())
    command = ["kubectl", f"--kubeconfig={config}", "cluster-info", "dump", "-A"]
    command += [f"--output-directory={tmp_path / 'dump'}"] if form == "folder" else []
    process = await asyncio.create_subprocess_exec(*command, stdout=subprocess.PIPE)
    output, _ = await process.communicate()
    source = tmp_path / "dump"
    if form == "text":
        source.write_bytes(output)
    found = await imported(source, tmp_path / "a.db")
    assert found.dump.tool == "kubectl cluster-info dump"
    assert {"Pod", "Node"} <= found.counts.by_kind.keys()
    at = found.dump.revision
    async with (
        APIServer(data=tmp_path / "a.db", at=at, modules="none") as copy,
        web_of(copy) as web,
    ):
        there = dumps.shown(await dumps.kinds_of(web))
    async with web_of(live) as web:
        here = dumps.shown(await dumps.kinds_of(web))
    # kubectl prints typed objects, with some zero values that the server leaves out
    assert identities(there) == {
        name: one for name, one in identities(here).items() if name in there
    }


@pytest.mark.parametrize(
    ("api_version", "kind"),
    [
        ("a/b/c", "Foo"), ("a.b/", "Foo"), ("a_b.c/v1", "Foo"), ("a.b/V1", "Foo"),
        ("a.b/v1", "Fo o"), ("a.b/v1", "Foo/x"), ("v1 ", "ConfigMap"), ("a.b/v1", "1Foo"),
    ],
)  # fmt: skip
async def test_kinds_that_no_api_can_have_are_named_and_not_served(tmp_path, api_version, kind):
    bad = {"apiVersion": api_version, "kind": kind, "metadata": {"name": "a"}}
    lists = [{"apiVersion": "v1", "kind": "List", "items": [bad, GOOD]}]
    lists.append({"apiVersion": api_version, "kind": f"{kind}List", "items": [bad]})
    (tmp_path / "a.yaml").write_text("\n".join(map(json.dumps, lists)))
    found = await imported(tmp_path / "a.yaml", tmp_path / "a.db")
    assert reasons(found) == {"an object whose apiVersion or kind is no name": (2, "a.yaml")}
    assert found.counts.by_kind == {"ConfigMap": 1}


SPEC = {
    "group": "example.com",
    "scope": "Cluster",
    "names": {"kind": "Boat", "plural": "boats"},
    "versions": [{"name": "v1", "served": True, "storage": True}],
}


@pytest.mark.parametrize(
    "spec",
    [
        None, {}, 5, [], {**SPEC, "group": 5}, {**SPEC, "group": ""}, {**SPEC, "names": None},
        {**SPEC, "names": {"kind": "Boat"}}, {**SPEC, "names": {"kind": 5, "plural": "boats"}},
        {**SPEC, "versions": None}, {**SPEC, "versions": []}, {**SPEC, "versions": [5]},
        {**SPEC, "versions": [{"served": True, "storage": True}]},
        {**SPEC, "versions": [{"name": "v1", "served": True}]},
        {**SPEC, "conversion": 5}, {**SPEC, "versions": [{**SPEC["versions"][0], "schema": 5}]},
    ],
)  # fmt: skip
@pytest.mark.parametrize("status", [{}, {"status": {"conditions": [], "storedVersions": ["v1"]}}])
async def test_definitions_that_no_server_has_accepted_are_named(tmp_path, spec, status):
    name = {"name": "boats.example.com"}
    kind = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition"}
    boat = {"apiVersion": "example.com/v1", "kind": "Boat", "metadata": {"name": "argo"}}
    items = [{**kind, "metadata": name, "spec": spec, **status}, boat, GOOD]
    (tmp_path / "a.json").write_text(
        json.dumps({"apiVersion": "v1", "kind": "List", "items": items})
    )
    found = await imported(tmp_path / "a.json", tmp_path / "a.db")
    reason = "a definition without the members that every definition has"
    assert reasons(found) == {reason: (1, "boats.example.com")}
    assert [*found.generated] == ["boats.example.com"]
    async with APIServer(data=tmp_path / "a.db", controllers=False) as server:
        await server.settled()
        assert (await server.client.get("example.com/v1/boats", "argo"))["kind"] == "Boat"


ITEMS = ["null", "5", "[]", '"x"', "true", "{}", '{"kind": "ConfigMap"}', '{"metadata": {}}']


@pytest.mark.parametrize("shape", ["json", "yaml", "documents", "lines", "array"])
async def test_an_item_that_cannot_be_read_hides_no_other(tmp_path, shape):
    objects = [{**GOOD, "metadata": {"name": f"a{number}"}} for number in range(len(ITEMS) + 1)]
    texts = list(map(json.dumps, objects))
    mixed = [text for pair in zip(texts, ITEMS, strict=False) for text in pair] + texts[-1:]
    (tmp_path / "a").write_text({
        "json": f'{{"kind": "List", "apiVersion": "v1", "items": [{",".join(mixed)}]}}',
        "array": f"[{','.join(mixed)}]",
        "yaml": "apiVersion: v1\nkind: List\nitems:\n" + "".join(f"- {each}\n" for each in mixed),
        "documents": "a: [\n---\n" + "\n---\n".join(mixed),
        "lines": "\n".join(each for each in mixed if each.startswith("{")),
    }[shape])  # fmt: skip
    found = await imported(tmp_path / "a", tmp_path / "a.db")
    assert found.counts.by_kind == {"ConfigMap": len(objects)}
    # null and [] are documents without objects, and one document more cannot be read
    parts = {"lines": len(ITEMS) - 5, "documents": len(ITEMS) - 2 + 1}
    assert sum(line.parts for line in found.findings) == parts.get(shape, len(ITEMS))


async def test_an_item_that_cannot_be_read_does_not_count_as_deleted(tmp_path):
    two = [{**GOOD, "metadata": {"name": name, "namespace": "b"}} for name in ("a", "c")]
    good = {"apiVersion": "v1", "kind": "ConfigMapList", "items": two}
    (tmp_path / "a.json").write_text(json.dumps(good))
    await imported(tmp_path / "a.json", tmp_path / "a.db")
    (tmp_path / "b.json").write_text(
        json.dumps({**good, "items": [None, {**GOOD, "metadata": {"name": "d", "namespace": "b"}}]})
    )
    text = (tmp_path / "b.json").read_text()
    for damaged in (text, text.replace("null, ", "")[:-2]):
        (tmp_path / "b.json").write_text(damaged)
        later = await imported(tmp_path / "b.json", tmp_path / "a.db", append=True)
        assert (later.counts.deleted, len(later.findings)) == (0, 1)
    (tmp_path / "b.json").write_text(text.replace("null, ", ""))
    later = await imported(tmp_path / "b.json", tmp_path / "a.db", append=True)
    assert (later.counts.deleted, len(later.findings)) == (2, 0)


@pytest.mark.parametrize(
    ("kind", "members", "path"),
    [
        ("v1 ConfigMap", {"metadata": {"labels": 5}}, "metadata.labels"),
        ("v1 ConfigMap", {"metadata": {"labels": {"a": 1}}}, "metadata.labels.a"),
        ("v1 ConfigMap", {"metadata": {"finalizers": "x"}}, "metadata.finalizers"),
        ("v1 ConfigMap", {"metadata": {"ownerReferences": [1]}}, "metadata.ownerReferences[0]"),
        ("v1 ConfigMap", {"metadata": {"uid": 1}}, "metadata.uid"),
        ("v1 ConfigMap", {"data": 7}, "data"),
        ("v1 ConfigMap", {"data": {"a": "b", "c": ["d"]}}, "data.c"),
        ("v1 ConfigMap", {"binaryData": {"a": "?"}}, "binaryData.a"),
        (
            "v1 Pod",
            {"spec": {"containers": [{"name": "a"}, {"ports": 1}]}},
            "spec.containers[1].ports",
        ),
        ("apps/v1 Deployment", {"spec": {"replicas": "two"}}, "spec.replicas"),
        ("coordination.k8s.io/v1 Lease", {"spec": {"renewTime": "now"}}, "spec.renewTime"),
        ("example.com/v1 Boat", {"metadata": {"labels": 5}}, "metadata.labels"),
    ],
)
async def test_values_that_no_client_could_read_are_left_out(tmp_path, kind, members, path):
    """A list with such an object could not be read by any typed client."""
    version, kind = kind.split()
    metadata = {"name": "bad", "namespace": "b", **members.get("metadata", {})}
    bad = {"apiVersion": version, "kind": kind, **members, "metadata": metadata}
    (tmp_path / "l.json").write_text(json.dumps({"kind": "List", "items": [bad, GOOD]}))
    found = await imported(tmp_path / "l.json", tmp_path / "l.db")
    reason = f"a {kind} with a value of a wrong type: {path}"
    assert reasons(found) == {reason: (1, "l.json: b/bad")}
    assert found.counts.by_kind == {"ConfigMap": 1}


async def test_fields_of_other_versions_are_kept(tmp_path):
    """Clients skip unknown fields, and their servers have them."""
    old = {"apiVersion": "extensions/v1beta1", "kind": "Ingress", "spec": {"backend": 7}}
    later = {**GOOD, "data": {"a": "b"}, "laterField": {"c": 1}}
    old["metadata"] = GOOD["metadata"]
    (tmp_path / "l.json").write_text(json.dumps({"kind": "List", "items": [old, later]}))
    found = await imported(tmp_path / "l.json", tmp_path / "l.db")
    assert found.counts.by_kind["ConfigMap"] == 1
    async with APIServer(data=tmp_path / "l.db") as server:
        assert (await server.client.get("v1/configmaps", "a", "b"))["laterField"] == {"c": 1}


async def test_an_object_that_is_left_out_of_a_later_dump_is_not_deleted(tmp_path):
    first, other = tmp_path / "a.json", {**GOOD, "metadata": {"name": "c", "namespace": "b"}}
    first.write_text(json.dumps({"kind": "List", "items": [GOOD, other]}))
    await imported(first, tmp_path / "a.db")
    first.write_text(json.dumps({"kind": "List", "items": [{**GOOD, "data": 7}, other]}))
    found = await imported(first, tmp_path / "a.db", append=True)
    assert (found.counts.deleted, found.counts.kept) == (0, 1)
    async with APIServer(data=tmp_path / "a.db") as server:
        assert "data" not in await server.client.get("v1/configmaps", "a", "b")
