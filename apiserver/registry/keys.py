"""Where objects are stored: the only place that makes keys.

`/registry/PLURAL/NAMESPACE/NAME` for built-in kinds, whatever their group, and
`/registry/GROUP/PLURAL/NAMESPACE/NAME` for all others, as in the reference's etcd.
"""

ROOT = "/registry/"
LEADER = "/registry/leases/kube-system/inkube-controllers"
"""The Lease of the server that runs controllers."""

CAPTURED = "/capture"
"""Where a capture notes that what was there at first is written; what follows happened then."""


def prefix(plural: str, group: str = "") -> str:
    """What the keys of a kind begin with; `group` for kinds that are not built in."""
    return f"{ROOT}{group}/{plural}/" if group else f"{ROOT}{plural}/"


def of_group(group: str) -> str:
    """What the keys of a group that is not built in begin with."""
    return f"{ROOT}{group}/"


def key(plural: str, namespace: str, name: str) -> str:
    """The key of an object of a built-in kind; `namespace` "" for cluster-scoped ones."""
    return f"{prefix(plural)}{namespace}/{name}" if namespace else f"{prefix(plural)}{name}"
