"""The state of a server as a page of HTML with the console. The page works without a server.

A server in memory loads the state, and requests to it return all data of the page. The Faults of
the state are deleted first, because they would affect these requests.
"""

from collections import defaultdict
from typing import Any

import aiohttp
import orjson

from inkube.apiserver import console
from inkube.apiserver.configuration import Options
from inkube.apiserver.server import APIServer
from inkube.apiserver.sources import Snapshot
from inkube.apiserver.testing import kube
from inkube.apiserver.testing.failing import FAULTS
from inkube.schemas.meta import GVR, split_api_version
from inkube.storage import Record

READER = {"status": {"userInfo": {"username": "report", "groups": []}}}
MAX_OBJECTS = 10_000
"""The number of newest changes in the histories of a page."""


async def page(
    snapshot: Snapshot,
    options: Options,
    title: str,
    differences: "console.report.Differences | None" = None,
) -> str:
    """Return the page for a state, with the kinds of `options`. Raises the errors of a server's
    start."""
    wanted = kube.options(
        snapshot=snapshot,
        kinds=options.kinds,
        modules=options.modules,
        module_options=options.module_options,
        kubernetes_version=options.kubernetes_version,
        services=options.services,
        controllers=False,
    )
    async with APIServer(wanted) as server, aiohttp.ClientSession(server.url) as http:
        if "world" in wanted.module_names:
            for fault in await server.client.list(FAULTS):
                await server.client.delete(FAULTS, fault["metadata"]["name"])

        async def get(path: str, media: str) -> Any:
            async with http.get(path, headers={"Accept": media}) as answer:
                answer.raise_for_status()
                return orjson.loads(await answer.read())

        history = defaultdict(list)
        for record in snapshot.log.records[-MAX_OBJECTS:]:
            path, change = _change(server, record)
            history[path].append(change)
        recorded = await console.report.record(get, READER, history, differences)
        return console.report.render(recorded, title)


async def of_file(
    snapshot: Snapshot, title: str, differences: "console.report.Differences | None" = None
) -> str:
    """Return the page for a state from a file, with the kinds of all modules."""
    return await page(snapshot, Options(modules="all"), title, differences)


def _change(server: APIServer, record: Record) -> tuple[str, "console.report.Change"]:
    """Return the path of the collection of an object's kind, and the change of the object."""
    obj = orjson.loads(record.data)
    obj["metadata"]["resourceVersion"] = str(record.revision)
    group, version = split_api_version(obj["apiVersion"])
    kind = "DELETED" if record.deleted else "MODIFIED" if record.previous else "ADDED"
    plural = server.client.plural(group, obj["kind"])
    return GVR(group, version, plural).path(), console.report.Change(kind, obj)
