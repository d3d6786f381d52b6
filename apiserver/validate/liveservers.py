"""The CRDs of running servers and of saved ones: snapshots, captures, kubeconfigs, addresses."""

import asyncio
import json
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import inkube
from inkube.apiserver import capture
from inkube.apiserver.validate.plan import InputError
from inkube.storage import StorageError

CRDS = "apiextensions.k8s.io/v1/customresourcedefinitions"
_PATIENCE = 30.0
_MOST = 256 * 2**20
"""The largest number of bytes of a response."""


def fetch(url: str) -> Any:
    """Return the JSON at an address: of a server's CRDs if the address has no path. Raises
    InputError."""
    base = url.rstrip("/")
    is_server = base.count("/") == 2
    address = f"{base}/apis/{CRDS}" if is_server else url
    try:
        with urllib.request.urlopen(address, timeout=_PATIENCE) as response:  # noqa: S310 # http
            value = json.loads(response.read(_MOST))
        return _listed(value["items"]) if is_server else value
    except (urllib.error.URLError, TimeoutError, ValueError, LookupError, TypeError) as error:
        raise InputError(f"{address} cannot be read: {error}") from error


def of_cluster(kubeconfig: Path) -> Any:
    """Return the CRDs of the current context of a kubeconfig, as a List. Raises InputError."""
    return asyncio.run(_of_cluster(kubeconfig))


def of_snapshot(file: Path) -> Any:
    """Return the CRDs in a snapshot or a capture, as a List. Raises InputError."""
    return asyncio.run(_of_snapshot(file))


async def _of_cluster(kubeconfig: Path) -> Any:
    group, version, plural = CRDS.split("/")
    try:
        async with capture.Cluster(kubeconfig) as cluster:
            page = await cluster.list(capture.Address(group, version, plural))
    except capture.ClusterError as error:
        raise InputError(f"{kubeconfig}: {error}") from error
    return _listed(page.items if page is not None else [])


async def _of_snapshot(file: Path) -> Any:
    try:
        async with inkube.APIServer(inkube.Options(snapshot=file, controllers=False)) as server:
            return _listed((await server.client.list(CRDS)).items)
    except (StorageError, OSError, ValueError) as error:
        raise InputError(f"{file} cannot be read: {error}") from error


def _listed(items: list[Any]) -> Any:
    named = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition"}
    return {"apiVersion": "v1", "kind": "List", "items": [{**named, **item} for item in items]}
