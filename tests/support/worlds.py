"""Objects of the scripted world and of what is provisioned from it, and what is said of them."""

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
