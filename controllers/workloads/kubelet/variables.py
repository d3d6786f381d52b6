"""The environment variables of a container, created like in a kubelet (`env`, `envFrom`)."""

import base64
from collections.abc import Mapping
from typing import Any

from inkube.client import Client, Object
from inkube.kinds import StatusError

_OF_POD = {
    "metadata.name": ("metadata", "name"),
    "metadata.namespace": ("metadata", "namespace"),
    "metadata.uid": ("metadata", "uid"),
    "spec.nodeName": ("spec", "nodeName"),
    "spec.serviceAccountName": ("spec", "serviceAccountName"),
    "status.hostIP": ("status", "hostIP"),
    "status.podIP": ("status", "podIP"),
}


async def of_container(client: Client, pod: Object, container: Object) -> dict[str, str]:
    """Return the names and values of a container's variables. Raises StatusError if a ConfigMap or
    Secret is missing."""
    found: dict[str, str] = {}
    for source in container.get("envFrom") or ():
        prefix = source.get("prefix") or ""
        for kind in ("configMapRef", "secretRef"):
            if source.get(kind) is not None:
                data = await _data(client, pod, kind, source[kind])
                found |= {f"{prefix}{name}": value for name, value in data.items()}
    for one in container.get("env") or ():
        value = one.get("value")
        if one.get("valueFrom") is not None:
            value = await _value(client, pod, container, one["valueFrom"])
        if value is not None:
            found[one["name"]] = expanded(value, found)
    return found


async def _value(client: Client, pod: Object, container: Object, source: Object) -> str | None:
    if source.get("fieldRef") is not None:
        return _field(pod, source["fieldRef"]["fieldPath"])
    if source.get("resourceFieldRef") is not None:
        kind, _, name = source["resourceFieldRef"]["resource"].partition(".")
        amounts = (container.get("resources") or {}).get(kind) or {}
        return str(amounts[name]) if name in amounts else ""
    for member, kind in (("configMapKeyRef", "configMapRef"), ("secretKeyRef", "secretRef")):
        if source.get(member) is not None:
            data = await _data(client, pod, kind, source[member])
            return data.get(source[member]["key"])
    return None


def _field(pod: Object, path: str) -> str:
    place = _OF_POD.get(path)
    if place is not None:
        return str((pod.get(place[0]) or {}).get(place[1]) or "")
    head, _, rest = path.partition("['")
    key = rest.removesuffix("']")
    values: dict[str, Any] = pod["metadata"].get(head.removeprefix("metadata.")) or {}
    return str(values.get(key, ""))


async def _data(client: Client, pod: Object, kind: str, reference: Object) -> dict[str, str]:
    resource = "v1/configmaps" if kind == "configMapRef" else "v1/secrets"
    try:
        found = await client.get(resource, reference["name"], pod["metadata"]["namespace"])
    except StatusError as error:
        if error.code == 404 and reference.get("optional"):
            return {}
        raise
    data: dict[str, str] = found.get("data") or {}
    return data if kind == "configMapRef" else {name: _plain(text) for name, text in data.items()}


def _plain(text: str) -> str:
    return base64.b64decode(text).decode("utf-8", "replace")


def expanded(text: str, known: Mapping[str, str]) -> str:
    """Return the text with `$(NAME)` replaced by known values. Unknown names are not replaced."""
    for name, value in known.items():
        text = text.replace(f"$({name})", value)
    return text
