"""Loads the objects of a scenario into a server of this process or into another one.

`commands` lists and loads scenarios, `lifespan` begins with one, `testing` loads them for tests.
"""

import json
import ssl
import urllib.error
import urllib.request
from base64 import b64decode
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

from inkube.controllers.client import Client, get_or_none, ignoring
from inkube.controllers.provisioning import SCENARIOS, Scenario, UnknownScenario, find
from inkube.schemas.objects import Object
from inkube.schemas.status import Reason, StatusError

__all__ = ["SCENARIOS", "Remote", "Scenario", "UnknownScenario", "Unloadable", "find", "load"]
WORLD = "/apis/world.inkube.dev/v1"
TIMEOUT = 10.0
"""Seconds to wait for a response of a server."""
TRIES = 5
"""Attempts to write an object that other writes change."""


class Unloadable(Exception):
    """A server cannot be reached, or refuses. The message contains the reason."""


async def load(client: Client, name: str) -> Scenario:
    """Create or replace the objects of a scenario. Raises UnknownScenario, StatusError."""
    scenario = find(name)
    for obj in scenario.world:
        await _put(client, obj)
    return scenario


async def _put(client: Client, obj: Object) -> None:
    resource, name = f"world.inkube.dev/v1/{_plural(obj)}", obj["metadata"]["name"]
    for _ in range(TRIES):
        stored = await get_or_none(client, resource, name)
        if stored is None:
            await client.create(obj)
            return
        with ignoring(Reason.CONFLICT):
            await client.update({**stored, "spec": obj["spec"]})
            return
    raise StatusError(409, Reason.CONFLICT, f"{name} is written by others again and again")


def _plural(obj: Object) -> str:
    return f"{obj['kind'].lower()}s"


class Remote:
    """Another server, from a kubeconfig. Raises Unloadable."""

    def __init__(self, url: str, token: str = "", authority: str = "") -> None:
        if not url.startswith(("http://", "https://")):
            raise Unloadable(
                f"{url!r} is not the address of a server, such as http://127.0.0.1:8001"
            )
        self.url = url.rstrip("/")
        self._headers = {"Content-Type": "application/json"}
        if token:
            self._headers["Authorization"] = f"Bearer {token}"
        self._context = ssl.create_default_context(cadata=authority) if authority else None

    def load(self, name: str) -> Scenario:
        """Create or replace the objects of a scenario. Raises UnknownScenario, Unloadable."""
        scenario = find(name)
        for obj in scenario.world:
            self._put(obj)
        return scenario

    def _put(self, obj: Object) -> None:
        path, name = f"{WORLD}/{_plural(obj)}", obj["metadata"]["name"]
        for _ in range(TRIES):
            code, stored = self._request("GET", f"{path}/{name}")
            if code == 404:
                code, stored = self._request("POST", path, obj)
            elif code == 200:
                code, stored = self._request(
                    "PUT", f"{path}/{name}", {**stored, "spec": obj["spec"]}
                )
            if code in (200, 201):
                return
            if code != 409:
                break
        raise Unloadable(f"{self.url} refuses {obj['kind']} {name}: {stored.get('message', code)}")

    def _request(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(  # noqa: S310 # noqa: S310 # the URL is always http, as checked at the start
            self.url + path, data, self._headers, method=method
        )
        try:
            with urllib.request.urlopen(  # noqa: S310 # the same
                request, timeout=TIMEOUT, context=self._context
            ) as response:
                return response.status, json.loads(response.read())
        except urllib.error.HTTPError as error:
            return error.code, _json(error.read())
        except (urllib.error.URLError, OSError, ValueError) as error:
            reason = getattr(error, "reason", error)
            raise Unloadable(f"{self.url} cannot be reached: {reason}") from error


def _json(text: bytes) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return {"message": text.decode("utf-8", "replace").strip()}


def of_kubeconfig(path: Path) -> Remote:
    """Return the server of a kubeconfig's current context. Raises Unloadable."""
    try:
        config = yaml.safe_load(path.read_text())
        context = _named(config["contexts"], config["current-context"])["context"]
        cluster = _named(config["clusters"], context["cluster"])["cluster"]
        user = _named(config.get("users") or [], context.get("user", "")).get("user") or {}
        authority = b64decode(cluster.get("certificate-authority-data", "")).decode()
        return Remote(cluster["server"], user.get("token", ""), authority)
    except OSError as error:
        raise Unloadable(f"{path}: {error.strerror}; name a server by --server URL") from error
    except (yaml.YAMLError, KeyError, TypeError, ValueError, AttributeError) as error:
        raise Unloadable(f"{path} is not a kubeconfig") from error


def _named(entries: Sequence[Any], name: str) -> Any:
    return next((entry for entry in entries if entry.get("name") == name), {})
