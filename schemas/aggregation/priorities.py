"""The priorities of groups and versions that the server serves itself.

Follows pkg/controlplane/apiserver/aggregator.go (defaultGenericAPIServicePriorities).
"""

GROUPS = {
    "": 18000, "apps": 17800, "events.k8s.io": 17750, "authentication.k8s.io": 17700,
    "authorization.k8s.io": 17600, "autoscaling": 17500, "batch": 17400,
    "certificates.k8s.io": 17300, "networking.k8s.io": 17200, "policy": 17100,
    "rbac.authorization.k8s.io": 17000, "storage.k8s.io": 16800, "apiextensions.k8s.io": 16700,
    "admissionregistration.k8s.io": 16700, "scheduling.k8s.io": 16600,
    "coordination.k8s.io": 16500, "node.k8s.io": 16300, "discovery.k8s.io": 16200,
    "flowcontrol.apiserver.k8s.io": 16100, "resource.k8s.io": 15900,
}  # fmt: skip
_VERSIONS = {
    ("", "v1"): 1,
    ("autoscaling", "v2"): 30,
    ("flowcontrol.apiserver.k8s.io", "v1"): 21,
    ("resource.k8s.io", "v1"): 20,
}
FIRST = 20000
"""The priority of the group of APIServices, which precedes all others."""
CUSTOM = 1000
"""The priority of groups of custom resources (crd_registration_controller.go)."""


def of_version(group: str, version: str) -> int:
    """Return the versionPriority of a built-in version."""
    return _VERSIONS.get((group, version), 15)
