"""A kubeconfig for a running server, as text.

Its shape is fixed, so the code writes the lines itself: a YAML library would be loaded at every
start.
"""

import base64
import json
import re
from pathlib import Path
from typing import NamedTuple

from inkube import storage
from inkube.apiserver.access.security import OPEN_TOKEN, Security, administrator
from inkube.apiserver.auth import tls

NAME = "inkube"
_WORD = re.compile(r"[a-zA-Z](?:[\w./-]|:(?=[\w/]))*", re.ASCII)
_OTHERS = frozenset({"false", "n", "no", "null", "off", "on", "true", "y", "yes"})
"""Words that YAML 1.1 reads as booleans or null."""
_SERVER = re.compile(r"^    server: (\S+)$", re.MULTILINE)


class Access(NamedTuple):
    """The address of a server and the credentials for it. Empty members are omitted."""

    url: str
    token: str = ""
    authority: bytes = b""
    namespace: str = "default"
    certificate: bytes = b""
    """A client certificate as PEM; `key` is its private key."""
    key: bytes = b""


def of(guards: Security, url: str, namespace: str, client_authority: "tls.Authority | None") -> str:
    """Return the kubeconfig of a server's administrator as YAML. With `client_authority`, it has a
    client certificate that this authority signs."""
    authority = guards.certificate.authority if guards.certificate else b""
    certificate, key = administrator(client_authority) if client_authority else (b"", b"")
    return render(Access(url, guards.token, authority, namespace, certificate, key))


def render(access: Access) -> str:
    """Return YAML that kubectl and all client libraries can read."""
    cluster = [f"server: {_text(access.url)}"]
    if access.authority:
        authority = base64.b64encode(access.authority).decode()
        cluster.append(f"certificate-authority-data: {authority}")
    if access.url.startswith("http:"):
        # @kubernetes/client-node uses plain HTTP only with this member
        cluster.append("insecure-skip-tls-verify: true")
    token = access.token
    if not token and access.url.startswith("https:"):
        token = OPEN_TOKEN
    credentials = [f"token: {_text(token)}"] if token else []
    if access.certificate:
        for name, text in (("certificate", access.certificate), ("key", access.key)):
            credentials.append(f"client-{name}-data: {base64.b64encode(text).decode()}")
    user = "".join(f"\n    {line}" for line in credentials) or " {}"
    members = "\n    ".join(cluster)
    return f"""\
apiVersion: v1
kind: Config
clusters:
- name: {NAME}
  cluster:
    {members}
users:
- name: {NAME}
  user:{user}
contexts:
- name: {NAME}
  context:
    cluster: {NAME}
    user: {NAME}
    namespace: {_text(access.namespace)}
current-context: {NAME}
preferences: {{}}
"""


def _text(value: str) -> str:
    """Return a word as it is if YAML reads it as a string. Return other values as JSON strings,
    which are valid YAML."""
    if _WORD.fullmatch(value) and value.lower() not in _OTHERS:
        return value
    return json.dumps(value, ensure_ascii=False)


def server_of(path: Path) -> str:
    """Return the address in a kubeconfig of this module, or "" without such a file."""
    try:
        match = _SERVER.search(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError):
        return ""
    return match[1].strip('"') if match else ""


def write(path: Path, text: str) -> None:
    """Write the file, readable only for its owner, because it can contain a token. Raises
    OSError."""
    storage.wholefiles.write(path, text, mode=storage.wholefiles.PRIVATE)
