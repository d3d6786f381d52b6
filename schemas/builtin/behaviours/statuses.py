"""Writes to /status: which metadata they leave alone, and which counters make sense.

Follows the PrepareForUpdate of the status strategies in pkg/registry and the Validate…StatusUpdate
of pkg/apis/{apps,core,policy,autoscaling}/validation.
"""

import ipaddress
from collections.abc import Iterator

from inkube.schemas import fielderrors
from inkube.schemas.builtin.behaviours import checks, naming
from inkube.schemas.fielderrors import FieldError
from inkube.schemas.objects import Object

_ALL = ("labels", "annotations", "finalizers", "ownerReferences")  # ResetObjectMetaForStatus
_KEPT: dict[tuple[str, str], tuple[str, ...]] = {
    ("", "pods"): ("ownerReferences",),
    ("admissionregistration.k8s.io", "validatingadmissionpolicies"): _ALL,
    ("apiregistration.k8s.io", "apiservices"): _ALL,
    ("apps", "deployments"): ("labels",),
    ("flowcontrol.apiserver.k8s.io", "flowschemas"): _ALL,
    ("flowcontrol.apiserver.k8s.io", "prioritylevelconfigurations"): _ALL,
    ("internal.apiserver.k8s.io", "storageversions"): _ALL,
    ("resource.k8s.io", "resourceclaims"): _ALL,
    ("storage.k8s.io", "volumeattachments"): _ALL,
    ("storagemigration.k8s.io", "storageversionmigrations"): _ALL,
}
# Counters that may not be negative, and behind `<` those that another one bounds.
_REPLICAS = """replicas fullyLabeledReplicas readyReplicas availableReplicas observedGeneration
    fullyLabeledReplicas<replicas readyReplicas<replicas availableReplicas<replicas
    availableReplicas<readyReplicas"""
_COUNTERS: dict[tuple[str, str], str] = {
    ("", "replicationcontrollers"): _REPLICAS,
    ("apps", "replicasets"): _REPLICAS,
    ("apps", "deployments"): """observedGeneration replicas updatedReplicas readyReplicas
        terminatingReplicas availableReplicas unavailableReplicas collisionCount
        updatedReplicas<replicas readyReplicas<replicas availableReplicas<replicas
        availableReplicas<readyReplicas""",
    ("apps", "statefulsets"): """replicas readyReplicas currentReplicas updatedReplicas
        availableReplicas observedGeneration collisionCount readyReplicas<replicas
        currentReplicas<replicas updatedReplicas<replicas availableReplicas<replicas
        availableReplicas<status.readyReplicas""",
    ("apps", "daemonsets"): """currentNumberScheduled numberMisscheduled desiredNumberScheduled
        numberReady observedGeneration updatedNumberScheduled numberAvailable numberUnavailable
        collisionCount""",
}
_BALANCED = (("", "services"),)


def keep_metadata(group: str, plural: str, meta: Object, old: Object) -> None:
    """Give back what a write to the kind's status may not change."""
    for member in _KEPT.get((group, plural), ()):
        if member in old:
            meta[member] = old[member]
        else:
            meta.pop(member, None)


def check(group: str, plural: str, obj: Object, old: Object) -> list[FieldError]:
    """What is wrong with the counters and addresses of a status."""
    words = _COUNTERS.get((group, plural), "").split()
    status, before = obj.get("status") or {}, old.get("status") or {}
    errors = list(_bad(words, status))
    count, had = status.get("collisionCount"), before.get("collisionCount")
    if "collisionCount" in words and had is not None and (count or 0) < had:
        what = "null" if count is None else count
        errors.append(fielderrors.invalid("status.collisionCount", what, "cannot be decremented"))
    if (group, plural) in _BALANCED:
        errors += _load_balancer(plural == "services", obj)
    return errors


def _load_balancer(of_service: bool, obj: Object) -> list[FieldError]:
    """ValidateLoadBalancerStatus, and the same of an ingress."""
    path = "status.loadBalancer.ingress"
    found = ((obj.get("status") or {}).get("loadBalancer") or {}).get("ingress") or []
    if of_service and found and (obj.get("spec") or {}).get("type") != "LoadBalancer":
        return [fielderrors.forbidden(path, "may only be used when `spec.type` is 'LoadBalancer'")]
    errors = []
    for index, ingress in enumerate(found):
        at = f"{path}[{index}]"
        address, host = ingress.get("ip", ""), ingress.get("hostname", "")
        if address and not _is_address(address):
            why = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"
            errors.append(fielderrors.invalid(f"{at}.ip", address, why))
        mode = ingress.get("ipMode")
        if mode is not None and not address:
            why = "may not be specified when `ip` is not set"
            errors.append(fielderrors.forbidden(f"{at}.ipMode", why))
        elif mode is not None:
            errors += checks.one_of(mode, f"{at}.ipMode", ("Proxy", "VIP"))
        if host:
            errors += checks.named(host, f"{at}.hostname", naming.subdomain)
            if _is_address(host):
                why = "must be a DNS name, not an IP address"
                errors.append(fielderrors.invalid(f"{at}.hostname", host, why))
    return errors


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def _bad(words: list[str], status: Object) -> Iterator[FieldError]:
    for word in words:
        name, _, bound = word.partition("<")
        value = status.get(name) or 0
        if not bound:
            if value < 0:
                detail = "must be greater than or equal to 0"
                yield fielderrors.invalid(f"status.{name}", value, detail)
        elif value > (status.get(bound.removeprefix("status.")) or 0):
            shown = "status.replicas" if bound == "replicas" else bound
            yield fielderrors.invalid(f"status.{name}", value, f"cannot be greater than {shown}")
