"""Objects of the scripted world and of what is provisioned from it, and what is said of them."""

import base64

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

PROVISIONING = "provisioning.grafana.app/v0alpha1"
MAIN = {"path": "grafana/grafana", "branches": ["main", "dev"], "defaultBranch": "main"}

ZERO_STATUS = {
    "health": {"healthy": False},
    "sync": {"state": "", "message": []},
    "webhook": None,
    "token": {},
    "quota": {},
}
"""A Repository's, before its controller has looked."""


def host(name="github.com", **spec):
    """A git host with the repository MAIN."""
    return {
        "apiVersion": "world.inkube.dev/v1",
        "kind": "GitHost",
        "metadata": {"name": name},
        "spec": {"repositories": [MAIN], **spec},
    }


def repository(name="a", *, secure=None, block=None, **spec):
    """A Repository of MAIN; `block` is its part about GitHub."""
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
    """Type, field and detail of status.fieldErrors."""
    return [(error["type"], error["field"], error["detail"]) for error in errors]


def caused(causes):
    """Reason and field of a 422's causes."""
    return [(cause["reason"], cause["field"]) for cause in causes]


def pem(key):
    """A private key as text."""
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
    """What GitHub knows of an app, with one installation."""
    spec = {"installations": [{"id": "42", "repositories": ["grafana/grafana"]}], **spec}
    metadata = {"name": name}
    return {
        "apiVersion": "world.inkube.dev/v1",
        "kind": "GitHubApp",
        "metadata": metadata,
        "spec": spec,
    }


def connection(name="conn", *, key=KEY, app_id="123456", installation="42"):
    """A Connection that logs in as an installation of an app."""
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
