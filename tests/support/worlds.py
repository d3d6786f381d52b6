"""Objects of the scripted world, Repositories that use it, and their conditions and errors."""

import base64

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

PROVISIONING = "provisioning.grafana.app/v0alpha1"
MAIN = {"path": "grafana/grafana", "branches": ["main", "dev"], "defaultBranch": "main"}

ZERO_STATUS = {
    "fieldErrors": [],
    "health": {"healthy": False},
    "sync": {"state": "", "message": []},
    "webhook": None,
    "token": {},
    "quota": {},
}
"""The status of a Repository before its controller has run."""


def host(name="github.com", **spec):
    """Return a git host with the repository MAIN."""
    return {
        "apiVersion": "world.inkube.dev/v1",
        "kind": "GitHost",
        "metadata": {"name": name},
        "spec": {"repositories": [MAIN], **spec},
    }


def repository(name="a", *, secure=None, block=None, **spec):
    """Return a Repository of MAIN; `block` is its part about GitHub."""
    block = {"url": "https://github.com/grafana/grafana", "branch": "main", **(block or {})}
    obj = {
        "apiVersion": PROVISIONING,
        "kind": "Repository",
        "metadata": {"name": name, "namespace": "ns"},
        "spec": {"title": "Title", "type": "github", "github": block, **spec},
    }
    if secure:
        obj["secure"] = secure
    return obj


def told(errors):
    """Type, field and detail of the entries in status.fieldErrors."""
    return [(error["type"], error["field"], error["detail"]) for error in errors]


def caused(causes):
    """Reason and field of the causes of a 422."""
    return [(cause["reason"], cause["field"]) for cause in causes]


def pem(key):
    """Return a private key as PEM text."""
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )


KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)
PUBLIC = (
    KEY.public_key()
    .public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    .decode()
)
OTHER_KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)


def app(name="123456", **spec):
    """GitHub's data of an app with one installation."""
    spec = {"installations": [{"id": "42", "repositories": ["grafana/grafana"]}], **spec}
    metadata = {"name": name}
    return {
        "apiVersion": "world.inkube.dev/v1",
        "kind": "GitHubApp",
        "metadata": metadata,
        "spec": spec,
    }


def connection(name="conn", *, key=KEY, app_id="123456", installation="42"):
    """Return a Connection that uses an installation of an app."""
    encoded = base64.b64encode(pem(key)).decode()
    return {
        "apiVersion": PROVISIONING,
        "kind": "Connection",
        "metadata": {"name": name, "namespace": "ns"},
        "spec": {
            "title": "Title",
            "type": "github",
            "github": {"appID": app_id, "installationID": installation},
        },
        "secure": {"privateKey": {"create": encoded}},
    }
