"""Snapshots of a real etcd, with the values that kube-apiserver writes."""

import dumps
import etcds
import pytest

from inkube import APIServer
from inkube.apiserver.dumps import DumpError, ImportOptions, import_dump

pytestmark = pytest.mark.skipif(etcds.PROGRAM is None, reason="etcd is not installed")
LARGE = "x" * 300_000


async def imported(source, file, **options):
    return await import_dump(source, file, ImportOptions(**options), report=lambda *_: None)


def fill(etcd, kinds):
    """Store the objects, with older and deleted states between them. Returns what must be read: the
    objects with their revisions in etcd."""
    found = {}
    for kind in kinds:
        for item in kind.items:
            meta = item["metadata"]
            home = f"/registry/{kind.group or 'core'}/{kind.plural}"
            key = f"{home}/{meta.get('namespace', '')}/{meta['name']}"
            older = {**item, "metadata": {**meta, "labels": {"older": "true"}}}
            etcd.put(key, etcds.stored(older))
            etcd.put(f"{key}-gone", etcds.stored(older))
            etcd.put(key, etcds.stored(item))
            version = str(etcd.revision())
            etcd.delete(f"{key}-gone")
            if kind.kind != "Secret":
                name = (kind.group, kind.kind, meta.get("namespace", ""), meta["name"])
                found[name] = {**item, "metadata": {**meta, "resourceVersion": version}}
    return found


@pytest.fixture
async def kinds(live, config_map, web_of):
    await live.client.create(config_map("large", value=LARGE))
    async with web_of(live) as web:
        return await dumps.kinds_of(web)


async def test_a_snapshot_is_served_as_kube_apiserver_stored_it(kinds, web_of, tmp_path):
    with etcds.running(tmp_path) as etcd:
        expected = fill(etcd, kinds)
        etcd.put("/registry/secrets/default/hidden", b"k8s:enc:aescbc:v1:key1:\0\1\2")
        etcd.put("/registry/ranges/serviceips", b"no object")
        etcd.put("compact_rev_key", b"100")
        source = etcd.snapshot(tmp_path / "snapshot.db")
    for each in (source, tmp_path / "etcd" / "member" / "snap" / "db"):
        file = tmp_path / f"{each.name}.inkube"
        found = await imported(each, file)
        assert found.dump.tool == "etcd snapshot"
        reasons = {line.reason: line.example for line in found.findings}
        encrypted = "encrypted values (aescbc), whose key is not in the snapshot"
        assert reasons[encrypted] == "/registry/secrets/default/hidden"
        assert reasons["values that are no objects"] == "/registry/ranges/serviceips"
        at = found.dump.revision
        async with APIServer(data=file, at=at, modules="none") as copy, web_of(copy) as web:
            assert dumps.shown(await dumps.kinds_of(web)) == expected


async def test_a_damaged_snapshot_is_an_error_with_a_reason(kinds, tmp_path):
    with etcds.running(tmp_path) as etcd:
        fill(etcd, kinds[:3])
        source = etcd.snapshot(tmp_path / "snapshot.db")
    whole = source.read_bytes()
    for size in (5_000, 9_000, 20_000):
        source.write_bytes(whole[:size])
        with pytest.raises(DumpError, match="damaged etcd snapshot"):
            await imported(source, tmp_path / f"{size}.db")
