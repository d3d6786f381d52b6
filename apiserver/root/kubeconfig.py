"""A kubeconfig for a running server, as text."""

import base64
import contextlib
import os
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import yaml

NAME = "inkube"
_ANYBODY = "anybody"
"""kubectl asks people for a name and a password where it has no credentials to send over TLS; an
open server takes every token for nobody's."""


class Access(NamedTuple):
    """How to reach a server; empty members are left out."""

    url: str
    token: str = ""
    authority: bytes = b""
    namespace: str = "default"


def render(access: Access) -> str:
    """YAML that kubectl and every client library read."""
    cluster: dict[str, Any] = {"server": access.url}
    if access.authority:
        cluster["certificate-authority-data"] = base64.b64encode(access.authority).decode()
    if access.url.startswith("http:"):
        # @kubernetes/client-node speaks plain HTTP to those alone who say this
        cluster["insecure-skip-tls-verify"] = True
    token = access.token
    if not token and access.url.startswith("https:"):
        token = _ANYBODY
    user = {"token": token} if token else {}
    context = {"cluster": NAME, "user": NAME, "namespace": access.namespace}
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": NAME, "cluster": cluster}],
        "users": [{"name": NAME, "user": user}],
        "contexts": [{"name": NAME, "context": context}],
        "current-context": NAME,
    }
    return yaml.safe_dump(document, sort_keys=False)


def write(path: Path, text: str) -> None:
    """Put it in place for its owner only: it may hold a token. Raises OSError."""
    handle, draft = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.absolute().parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(draft, path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(draft)
        raise
