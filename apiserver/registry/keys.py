"""Keys of stored objects. All keys are made here.

`/registry/PLURAL/NAMESPACE/NAME` for built-in kinds of any group, and
`/registry/GROUP/PLURAL/NAMESPACE/NAME` for all others, as in the reference's etcd.
"""

ROOT = "/registry/"
LEADER = "/registry/leases/kube-system/inkube-controllers"
"""The Lease of the server that runs controllers."""

CAPTURED = "/capture"
"""The key of a capture's mark: entries before it are the initial state, later ones are changes."""


_OF_ETCD = {
    "replicationcontrollers": "controllers",
    "endpoints": "services/endpoints",
    "nodes": "minions",
    "services": "services/specs",
    "ingresses": "ingress",
    "customresourcedefinitions": "apiextensions.k8s.io/customresourcedefinitions",
    "apiservices": "apiregistration.k8s.io/apiservices",
}
"""The places of kinds in etcd whose keys are different here: SpecialDefaultResourcePrefixes, and
the kinds of the servers of extensions and aggregation, which contain their group."""


def of_etcd(key: str) -> str:
    """Return the key under which kube-apiserver stores an object, for texts of errors."""
    plural, slash, rest = key.removeprefix(ROOT).partition("/")
    return f"{ROOT}{_OF_ETCD.get(plural, plural)}{slash}{rest}"


def prefix(plural: str, group: str = "") -> str:
    """Return the prefix of a kind's keys. `group` is "" for built-in kinds."""
    return f"{ROOT}{group}/{plural}/" if group else f"{ROOT}{plural}/"


def of_group(group: str) -> str:
    """Return the prefix of the keys of a group that is not built in."""
    return f"{ROOT}{group}/"


def key(plural: str, namespace: str, name: str) -> str:
    """Return the key of an object of a built-in kind. `namespace` is "" for a cluster-scoped
    one."""
    return f"{prefix(plural)}{namespace}/{name}" if namespace else f"{prefix(plural)}{name}"
