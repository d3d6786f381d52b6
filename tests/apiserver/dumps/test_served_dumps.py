"""`inkube serve SOURCE`: what kubectl and clients like k9s ask of a dump.

The objects have resource versions that no log of inkube contains, and are served all the same.
"""

import asyncio
import contextlib
import json
import os
import shutil
import sys

import dumps
import pytest
from patience import SECONDS, within

from inkube import APIServer
from inkube.apiserver.dumps import ImportOptions, import_dump

needs_kubectl = pytest.mark.skipif(shutil.which("kubectl") is None, reason="needs kubectl")
POD = {
    "apiVersion": "v1", "kind": "Pod",
    "metadata": {
        "name": "web", "namespace": "default", "uid": "1", "resourceVersion": "50",
        "creationTimestamp": "2026-11-20T08:00:00Z",
    },
    "spec": {"nodeName": "one", "containers": [{"name": "main", "image": "nginx"}]},
    "status": {"phase": "Running"},
}  # fmt: skip
EVENT = {
    "apiVersion": "v1", "kind": "Event",
    "metadata": {
        "name": "web.1", "namespace": "default", "uid": "2", "resourceVersion": "60",
        "creationTimestamp": "2026-11-20T08:00:00Z",
    },
    "involvedObject": {"kind": "Pod", "name": "web", "namespace": "default", "uid": "1"},
    "type": "Warning", "reason": "BackOff", "message": "again and again",
    "firstTimestamp": "2026-11-20T08:00:00Z", "lastTimestamp": "2026-11-20T08:00:00Z",
}  # fmt: skip
ANSWERS = {
    "get all -A --no-headers": "pod/web",
    "describe pod web": "again and again",
    "logs web -c main --tail 1": "line 59",
    "logs web -c main --previous": "crashed",
    "logs web -c main --tail 1 -f": "line 59",
    "events": "again and again",
    "get pods -o wide": "one",
    "api-resources": "deployments",
    "top pods": "Metrics API not available",
    "delete pod web": "takes no writes",
    "exec web -- ls": "A dump contains objects and logs, but no containers",
    "attach web": "A dump contains objects and logs, but no containers",
    "port-forward web 18080:80": "A dump contains objects and logs, but no containers",
    "get --raw /api/v1/namespaces/default/services/gone/proxy/": "but no containers and no network",
}
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"


async def started(*arguments):
    return await asyncio.create_subprocess_exec(
        *arguments, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )  # fmt: skip


@contextlib.asynccontextmanager
async def served(folder):
    """A function that runs kubectl with the dump in a folder; it returns the output."""
    kinds = [
        dumps.Listed("", "v1", "pods", "Pod", [POD]),
        dumps.Listed("", "v1", "events", "Event", [EVENT]),
    ]
    source = dumps.must_gather(kinds, dumps.LOGS, folder)
    config = folder / "config"
    options = ("--port", "0", "--kubeconfig", str(config))
    server = await started(sys.executable, "-m", "inkube", "serve", str(source), *options)

    async def kubectl(text):
        process = await started("kubectl", f"--kubeconfig={config}", *text.split())
        output, _ = await process.communicate()
        return output.decode()

    try:
        async with within():
            while b"inkube serves on" not in (line := await server.stdout.readline()):
                assert line, "the server has ended"
            while b"Ctrl+C" not in (line := await server.stdout.readline()):
                assert line, "the server has ended"
        yield kubectl
    finally:
        server.terminate()
        await server.communicate()


@needs_kubectl
async def test_kubectl_reads_a_dump(tmp_path):
    async with served(tmp_path) as kubectl:
        outputs = await asyncio.gather(*map(kubectl, ANSWERS))
        for (text, expected), output in zip(ANSWERS.items(), outputs, strict=True):
            assert expected in output, f"{text}: {output}"
        groups = json.loads(await kubectl("get --raw /apis"))
        assert groups["kind"] == "APIGroupList"


@pytest.mark.parametrize("query", ["", "follow=true"])
async def test_a_server_that_stops_sends_the_rest_of_a_log(tmp_path, query):
    """It ends by itself, also if it is followed."""
    text = b"a line of a log\n" * 1_000_000  # more than buffers of sockets take
    kinds = [dumps.Listed("", "v1", "pods", "Pod", [POD])]
    source = dumps.must_gather(kinds, [dumps.Log("default", "web", "main", text)], tmp_path)
    options = ImportOptions()
    found = await import_dump(source, tmp_path / "a.db", options, report=lambda *_: None)
    async with APIServer(
        data=tmp_path / "a.db", at=found.dump.revision, modules="none"
    ) as server, within():  # fmt: skip
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        path = f"/api/v1/namespaces/default/pods/web/log?{query}"
        writer.write(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
        await reader.readuntil(b"\r\n\r\n")
        stopping = asyncio.create_task(server.stop(SECONDS))
        with contextlib.suppress(OSError):
            while True:  # until it accepts no connections: it stops
                _, probe = await asyncio.open_connection("127.0.0.1", server.port)
                probe.close()
        received = b""
        while size := int(await reader.readuntil(b"\r\n"), 16):
            received += (await reader.readexactly(size + 2))[:-2]
        await stopping
        writer.close()
    assert received == text


async def test_tables_and_watches_are_served(tmp_path, web_of):
    kinds = [dumps.Listed("", "v1", "pods", "Pod", [POD])]
    source = dumps.must_gather(kinds, [], tmp_path)
    options = ImportOptions()
    found = await import_dump(source, tmp_path / "a.db", options, report=lambda *_: None)
    async with (
        APIServer(data=tmp_path / "a.db", at=found.dump.revision, modules="none") as server,
        web_of(server) as web,
    ):
        table = await web.ask("GET", "/api/v1/pods", Accept=TABLE)
        assert [row["cells"][0] for row in table.json["rows"]] == ["web"]
        path = "/api/v1/pods?watch=1&timeoutSeconds=1&resourceVersion=0"
        events = (await web.ask("GET", path)).body.splitlines()
        assert [json.loads(each)["type"] for each in events] == ["ADDED"]
