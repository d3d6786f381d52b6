"""A request over HTTP is freed when it is answered, without the garbage collector, whether it
succeeds or is refused: no frame of an error refers back to the error."""

import asyncio
import gc
import json
from pathlib import Path
from typing import Any, Literal

import pytest
from patience import within

from inkube import APIServer

REQUESTS = 40
MAPS = "/api/v1/namespaces/default/configmaps"
MAP = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "one"}}
JSON, MERGE_PATCH = "application/json", "application/merge-patch+json"
OTHER_USER = "Impersonate-User: jane"


async def answered(
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    request: str,
    body: Any,
    *headers: str,
) -> int:
    """Send a request on a connection, read its response and return the code."""
    sent = b"" if body is None else json.dumps(body).encode()
    lines = [f"{request} HTTP/1.1", "Host: localhost", f"Content-Length: {len(sent)}", *headers]
    writer.write("\r\n".join([*lines, "", ""]).encode() + sent)
    async with within():
        head = (await reader.readuntil(b"\r\n\r\n")).lower()
        length = int(head.partition(b"content-length: ")[2].split(b"\r\n")[0])
        await reader.readexactly(length)
    return int(head.split()[1])


@pytest.mark.parametrize(
    ("code", "request_line", "body", "headers"),
    [
        (200, f"GET {MAPS}/one", None, []),
        (200, f"GET {MAPS}?limit=1", None, []),
        (200, f"GET {MAPS}", None, ["Accept: application/json;as=Table;g=meta.k8s.io;v=v1"]),
        (200, f"PATCH {MAPS}/one", {"data": {"a": "b"}}, [f"Content-Type: {MERGE_PATCH}"]),
        (201, f"POST {MAPS}?dryRun=All", {**MAP, "metadata": {"generateName": "a"}}, []),
        (400, f"POST {MAPS}", [], []),
        (400, f"GET {MAPS}?labelSelector=a%20b", None, []),
        (401, f"GET {MAPS}/one", None, ["Authorization: Bearer unknown"]),
        (403, f"GET {MAPS}/one", None, [OTHER_USER]),
        (403, f"POST {MAPS}", MAP, [OTHER_USER]),
        (404, f"GET {MAPS}/none", None, []),
        (404, f"DELETE {MAPS}/none", None, []),
        (404, "GET /apis/none.example.com/v1/boats", None, []),
        (404, "GET /none", None, []),
        (406, f"GET {MAPS}/one", None, ["Accept: text/none"]),
        (409, f"POST {MAPS}", MAP, []),
        (409, f"PUT {MAPS}/one", {**MAP, "metadata": {"name": "one", "resourceVersion": "1"}}, []),
        (410, f"GET {MAPS}?resourceVersion=1&resourceVersionMatch=Exact", None, []),
        (415, f"PATCH {MAPS}/one", {}, ["Content-Type: text/none"]),
        (422, f"POST {MAPS}", {**MAP, "metadata": {"name": "A"}}, []),
        (422, f"PATCH {MAPS}/one", {"data": {"/": "b"}}, [f"Content-Type: {MERGE_PATCH}"]),
    ],
)
@pytest.mark.parametrize("engine", ["fast", "plain"])
async def test_requests_leave_nothing_to_the_garbage_collector(
    engine: Literal["fast", "plain"],
    code: int,
    request_line: str,
    body: Any,
    headers: list[str],
    tmp_path: Path,
) -> None:
    tokens = tmp_path / "tokens.csv"
    tokens.write_text("secret,admin,1,system:masters\n")
    given = {header.partition(":")[0] for header in headers}
    usual = (f"Content-Type: {JSON}", "Authorization: Bearer secret")
    headers = [*headers, *(each for each in usual if each.partition(":")[0] not in given)]
    async with APIServer(
        controllers=False, engine=engine, token_auth_file=tokens, authorization_mode="RBAC"
    ) as server:
        await server.client.create(MAP)
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        for _ in range(3):
            assert await answered(reader, writer, request_line, body, *headers) == code
        gc.collect()
        gc.disable()
        try:
            for _ in range(REQUESTS):
                await answered(reader, writer, request_line, body, *headers)
            assert gc.collect() < REQUESTS
        finally:
            gc.enable()
            writer.close()
            await writer.wait_closed()
