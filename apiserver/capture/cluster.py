"""A cluster's lists and watches, through `kubectl proxy` on a socket that only this user can
open."""

import asyncio
import contextlib
import os
import shutil
import tempfile
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import NamedTuple, Self

import aiohttp
import orjson

from inkube.apiserver.watchdogs import Watchdog
from inkube.schemas.meta import GVR
from inkube.schemas.objects import Object

PAGE = 500
MAX_LINE = 8 * 2**20
"""The largest event of a watch, in bytes. etcd does not store objects of this size."""
LIST_DELAYS = (0.5, 2.0, 8.0)
"""Seconds before a list begins again that has expired between its pages, or met a busy cluster."""
START_SECONDS = 30.0
WATCH_SECONDS = 300
"""The duration of a watch in seconds, after which a new one is opened."""


class ClusterError(Exception):
    """The cluster cannot be reached, or rejects a request."""


class Expired(ClusterError):
    """410: the revision was compacted; list again."""


class Busy(ClusterError):
    """429, 503 or 504: the cluster does not answer now; ask again."""


class Refused(ClusterError):
    """The cluster does not serve one list to this user. Other lists can still be read."""


_KINDS: Mapping[int, type[ClusterError]] = {
    401: ClusterError, 410: Expired, 429: Busy, 503: Busy, 504: Busy,
}  # fmt: skip
"""Code of a Status → what it is about, if not the list alone."""


class Address(NamedTuple):
    """The address of a kind's list."""

    group: str
    version: str
    plural: str
    namespace: str = ""

    @property
    def path(self) -> str:
        """The path of the list."""
        return GVR(self.group, self.version, self.plural).path(self.namespace)

    def __str__(self) -> str:
        name = f"{self.plural}.{self.group}" if self.group else self.plural
        return f"{name} of {self.namespace}" if self.namespace else name


class ListPage(NamedTuple):
    """A complete list, and the resourceVersion from which a watch continues."""

    items: list[Object]
    version: str


class Cluster:
    """A connection to a cluster. Entering it raises ClusterError."""

    def __init__(self, kubeconfig: Path | None, context: str = "") -> None:
        self._arguments = [f"--kubeconfig={kubeconfig}"] if kubeconfig is not None else []
        self._arguments += [f"--context={context}"] if context else []
        self._stack = contextlib.AsyncExitStack()

    async def __aenter__(self) -> Self:
        async with contextlib.AsyncExitStack() as stack:
            folder = stack.enter_context(tempfile.TemporaryDirectory())  # mode 0700
            socket = str(Path(folder) / "proxy")
            await self._start_proxy(stack, socket)
            self._session = await stack.enter_async_context(
                aiohttp.ClientSession(
                    "http://localhost",
                    connector=aiohttp.UnixConnector(socket, limit=0),
                    timeout=aiohttp.ClientTimeout(total=None, sock_connect=START_SECONDS),
                    read_bufsize=MAX_LINE,
                )
            )
            self._stack = stack.pop_all()
        return self

    async def __aexit__(self, *error: object) -> None:
        await self._stack.aclose()

    @property
    def session(self) -> aiohttp.ClientSession:
        """The HTTP client for paths of the cluster. Only in the block."""
        return self._session

    async def list(self, address: Address) -> ListPage | None:
        """Return all objects of a kind with their apiVersion and kind, or None if the kind is not
        served. A list begins again if its revision expires between two pages, or if the cluster is
        busy.

        Raises ClusterError, and Refused if only this list cannot be read.
        """
        for delay in LIST_DELAYS:
            try:
                return await self._pages(address)
            except (Expired, Busy):
                await asyncio.sleep(delay)
        return await self._pages(address)

    async def _pages(self, address: Address) -> ListPage | None:
        items: list[Object] = []
        query = {"limit": str(PAGE)}
        while True:
            try:
                async with self._session.get(address.path, params=query) as answer:
                    body = await answer.read()
            except aiohttp.ClientError as error:
                raise ClusterError(f"{address}: {error or type(error).__name__}") from error
            if answer.status == 404:
                return None
            if answer.status != 200:
                raise _failure(address, answer.status, body)
            page = orjson.loads(body)
            head = {"apiVersion": page["apiVersion"], "kind": page["kind"].removesuffix("List")}
            items += ({**head, **item} for item in page.get("items") or ())
            meta = page["metadata"]
            if not meta.get("continue"):
                return ListPage(items, meta["resourceVersion"])
            query["continue"] = meta["continue"]

    async def watch(self, address: Address, version: str) -> AsyncIterator[Object]:
        """Yield the events after a version, including bookmarks, until the watch ends. Raises Gone,
        ClusterError."""
        query = {
            "watch": "1",
            "allowWatchBookmarks": "true",
            "resourceVersion": version,
            "timeoutSeconds": str(WATCH_SECONDS),
        }
        try:
            async with self._session.get(address.path, params=query) as answer:
                if answer.status != 200:
                    raise _failure(address, answer.status, await answer.read())
                while line := await answer.content.readline():
                    event = orjson.loads(line)
                    if event["type"] == "ERROR":
                        code = event["object"].get("code", 0)
                        raise _failure(address, code, orjson.dumps(event["object"]))
                    yield event
        except (aiohttp.ClientError, ValueError) as error:
            raise ClusterError(f"{address}: {error or type(error).__name__}") from error

    async def _start_proxy(self, stack: contextlib.AsyncExitStack, socket: str) -> None:
        program = shutil.which("kubectl")
        if program is None:
            raise ClusterError("install kubectl, which connects to the cluster: it is not on PATH")
        if not self._arguments and not _is_configured():
            raise ClusterError("there is no kubeconfig: name one with --kubeconfig or KUBECONFIG")
        if os.name == "nt":
            raise ClusterError("kubectl has no sockets that only you may open on Windows")
        process = await asyncio.create_subprocess_exec(
            program,
            *self._arguments,
            "proxy",
            f"--unix-socket={socket}",
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        stack.push_async_callback(_end, process)
        stack.callback(Watchdog(process.pid).close)
        output, errors = process.stdout, process.stderr
        assert output is not None, "it is a pipe"
        assert errors is not None, "it is a pipe"
        try:
            async with asyncio.timeout(START_SECONDS):
                if not await output.readline():
                    raise ClusterError(_reason(await errors.read()))
        except TimeoutError as error:
            raise ClusterError(f"kubectl proxy does not start in {START_SECONDS:g} s") from error


def _is_configured() -> bool:
    """Return whether kubectl finds a cluster by itself; else it asks port 8080 of this machine."""
    files = os.environ.get("KUBECONFIG") or str(Path("~/.kube/config").expanduser())
    in_pod = "KUBERNETES_SERVICE_HOST" in os.environ
    return in_pod or any(Path(file).is_file() for file in files.split(os.pathsep) if file)


def _reason(output: bytes) -> str:
    """Return the last line of what kubectl says, without the word that begins each of its errors
    (kubectl/pkg/cmd/util/helpers.go: checkErr)."""
    lines = output.decode(errors="replace").strip().splitlines() or ["kubectl proxy has ended"]
    return lines[-1].removeprefix("error: ")


async def _end(process: asyncio.subprocess.Process) -> None:
    if process.returncode is None:
        process.terminate()
    await process.communicate()


def _failure(address: Address, code: int, body: bytes) -> ClusterError:
    try:
        message = orjson.loads(body)["message"]
    except (ValueError, TypeError, LookupError):  # of the proxy, which does not reach the cluster
        return ClusterError(f"{address}: {body.decode(errors='replace').strip() or code}")
    return _KINDS.get(code, Refused)(f"{address}: {code} {message}")
