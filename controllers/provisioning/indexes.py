"""Indexes over repositories and connections: the dependents of a host, a connection or an app."""

from inkube.client import Object
from inkube.controllers.provisioning.outside import urls
from inkube.controllers.provisioning.types import Connection, Repository
from inkube.kinds import Environment, Index


def repositories_by_host(env: Environment) -> Index:
    """Return Repositories by the host of their URL."""
    return env.informers.of(Repository.gvr).index(_hosts)


def repositories_by_connection(env: Environment) -> Index:
    """Return Repositories by `NAMESPACE/CONNECTION`."""
    return env.informers.of(Repository.gvr).index(_connections)


def connections_by_app(env: Environment) -> Index:
    """Return Connections by the ID of their app, and by `host NAME` of their server, or "" for
    GitHub."""
    return env.informers.of(Connection.gvr).index(_apps)


def repositories_by_namespace(env: Environment) -> Index:
    """Return Repositories by their namespace, except those that are being deleted."""
    return env.informers.of(Repository.gvr).index(_namespaces)


def _namespaces(obj: Object) -> list[str]:
    metadata = obj["metadata"]
    return [] if metadata.get("deletionTimestamp") else [metadata.get("namespace", "")]


def _hosts(obj: Object) -> list[str]:
    spec = obj.get("spec") or {}
    host = urls.host_of(str((spec.get(spec.get("type", "")) or {}).get("url", "")))
    return [host] if host else []


def _connections(obj: Object) -> list[str]:
    name = ((obj.get("spec") or {}).get("connection") or {}).get("name")
    return [f"{obj['metadata'].get('namespace', '')}/{name}"] if name else []


def _apps(obj: Object) -> list[str]:
    spec = obj.get("spec") or {}
    block = spec.get(spec.get("type", "")) or {}
    app = block.get("appID")
    if not app:
        return []
    server = urls.host_of(str(block.get("serverUrl") or ""))
    return [str(app), f"host {server}" if server else ""]
