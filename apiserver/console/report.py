"""The console as one file with the state of a server, which a browser opens without a server.

The page contains the console's own script and style. `assets/recorded.js` responds to its requests
with the recorded state.
"""

import base64
import html
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, NamedTuple

import orjson

from inkube.apiserver.console import pages
from inkube.schemas.objects import Object

Get = Callable[[str, str], Awaitable[Any]]
"""Requests a path from the server, with a media type in `Accept`. Returns the decoded response."""

DISCOVERY = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
TABLE = "application/json;as=Table;g=meta.k8s.io;v=v1,application/json"
JSON = "application/json"
MAX_REQUESTS = 5_000
"""The most objects of one kind in a report."""


class Change(NamedTuple):
    """A state in the history of an object."""

    type: str
    object: Object


class Differences(NamedTuple):
    """The differences to an earlier state, each in the form of `inkube diff -o json`."""

    title: str
    changes: Sequence[Object]


async def record(
    get: Get,
    user: Object,
    history: Mapping[str, Sequence[Change]],
    differences: Differences | None = None,
) -> bytes:
    """Return the recorded state of a server as JSON. `history` maps the path of a kind's list to
    its changes."""
    documents = {path: await get(path, DISCOVERY) for path in ("/api", "/apis")}
    documents["/version"] = await get("/version", JSON)
    lists: dict[str, Any] = {}
    for root, plural in _listable(documents["/api"], documents["/apis"]):
        path = f"{root}/{plural}"
        found = await get(f"{path}?limit={MAX_REQUESTS}", JSON)
        found["items"] = found.get("items") or []
        shown = await get(f"{path}?limit={MAX_REQUESTS}&includeObject=Object", TABLE)
        lists[path] = {"list": found, "table": shown}
    index = await get("/openapi/v3", JSON)
    own = {name: each for name, each in index["paths"].items() if _is_custom(name)}
    documents["/openapi/v3"] = {"paths": own}
    for each in own.values():
        path = each["serverRelativeURL"].partition("?")[0]
        documents[path] = await get(path, JSON)
    return orjson.dumps({
        "documents": documents,
        "lists": lists,
        "user": user,
        "history": {path: [each._asdict() for each in found] for path, found in history.items()},
        "differences": None if differences is None else differences._asdict(),
    })  # fmt: skip


def render(requests: bytes, title: str) -> str:
    """Return the page. `</script>` in the data or the code cannot end their elements."""
    files = {name: (pages.FOLDER / name).read_text("utf-8") for name in _FILES}
    icon = base64.b64encode(files["icon.svg"].encode()).decode()
    script = pages.script().replace('src="icon.svg"', f'src="data:image/svg+xml;base64,{icon}"')
    return "\n".join([
        '<!doctype html><html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{html.escape(title, quote=False)}</title>",
        f"<style>{files['style.css']}</style>",
        f"<script>{_safe(files['theme.js'])}</script>",
        "</head><body>",
        '<div id="console"><main class="loading" aria-busy="true"><h1>Loading…</h1></main></div>',
        f'<script type="application/json" id="recorded">{_safe(requests.decode())}</script>',
        f"<script>{_safe(files['recorded.js'])}</script>",
        f'<script type="module">{_safe(script)}</script>',
        "</body></html>",
    ])  # fmt: skip


_FILES = ("icon.svg", "recorded.js", "style.css", "theme.js")


def _safe(text: str) -> str:
    r"""Return a text that cannot end its element. In JSON and in strings of scripts, `\/` is a
    slash."""
    return text.replace("</script", "<\\/script")


def _listable(*documents: Object) -> list[tuple[str, str]]:
    """Return the path of each version, and the plural of each kind that can be listed."""
    found = []
    for document in documents:
        for group in document["items"]:
            name = group["metadata"].get("name", "")
            for version in group["versions"]:
                root = (
                    f"/apis/{name}/{version['version']}" if name else f"/api/{version['version']}"
                )
                found += [
                    (root, each["resource"])
                    for each in version.get("resources") or ()
                    if "list" in each["verbs"]
                ]
    return found


def _is_custom(name: str) -> bool:
    """Return whether an OpenAPI document is for a group that Kubernetes does not have."""
    group = name.split("/")[1] if name.startswith("apis/") and name.count("/") == 2 else ""
    return "." in group and not group.endswith(".k8s.io")
