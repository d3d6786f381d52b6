"""Ingresses, their classes and network policies.

Follows pkg/apis/networking/v1/defaults.go and pkg/apis/networking/validation.
"""

from inkube.schemas import fielderrors
from inkube.schemas.builtin.behaviours import checks, naming
from inkube.schemas.builtin.behaviours.base import Behaviour
from inkube.schemas.fielderrors import FieldError
from inkube.schemas.metadata import names
from inkube.schemas.objects import Object

_PATH_TYPES = ("Exact", "ImplementationSpecific", "Prefix")


class Ingresses(Behaviour):
    """Rules lead to backends; every path has a type."""

    generation = ("spec",)

    def check(self, obj: Object) -> list[FieldError]:
        spec = obj.get("spec") or {}
        errors = []
        if not spec.get("rules") and spec.get("defaultBackend") is None:
            why = "either `defaultBackend` or `rules` must be specified"
            errors.append(fielderrors.invalid("spec", spec.get("rules") or [], why))
        if spec.get("defaultBackend") is not None:
            errors += _backend(spec["defaultBackend"], "spec.defaultBackend")
        for index, rule in enumerate(spec.get("rules") or []):
            errors += _rule(rule, f"spec.rules[{index}]")
        if spec.get("ingressClassName"):
            name = spec["ingressClassName"]
            errors += checks.named(name, "spec.ingressClassName", naming.subdomain)
        return errors


def _rule(rule: Object, path: str) -> list[FieldError]:
    errors = []
    host = rule.get("host", "")
    if host.startswith("*."):
        errors += checks.named(host[2:], f"{path}.host", names.dns1123_subdomain)
    elif host:
        errors += checks.named(host, f"{path}.host", names.dns1123_subdomain)
    http = rule.get("http")
    if http is None:
        return errors
    if not http.get("paths"):
        errors.append(fielderrors.required(f"{path}.http.paths"))
    for index, entry in enumerate(http.get("paths") or []):
        errors += _path(entry, f"{path}.http.paths[{index}]")
    return errors


def _path(entry: Object, path: str) -> list[FieldError]:
    kind, text = entry.get("pathType"), entry.get("path", "")
    errors = []
    if kind is None:
        errors.append(fielderrors.required(f"{path}.pathType", "pathType must be specified"))
    elif kind not in _PATH_TYPES:
        errors.append(fielderrors.not_supported(f"{path}.pathType", kind, _PATH_TYPES))
    elif not text.startswith("/") and (text or kind != "ImplementationSpecific"):
        errors.append(fielderrors.invalid(f"{path}.path", text, "must be an absolute path"))
    return errors + _backend(entry.get("backend") or {}, f"{path}.backend")


def _backend(backend: Object, path: str) -> list[FieldError]:
    service, resource = backend.get("service"), backend.get("resource")
    if service is not None and resource is not None:
        why = "cannot set both resource and service backends"
        return [fielderrors.invalid(path, "", why)]
    if resource is not None:
        return []
    if service is None:
        why = "must have a service or resource backend"
        return [fielderrors.required(path, why)]
    errors = []
    if not service.get("name"):
        errors.append(fielderrors.required(f"{path}.service.name"))
    else:
        errors += checks.named(service["name"], f"{path}.service.name", naming.label1035)
    port = service.get("port") or {}
    if port.get("name") and port.get("number"):
        why = "cannot set both port name & port number"
        errors.append(fielderrors.invalid(path, "", why))
    elif port.get("name"):
        errors += checks.named(port["name"], f"{path}.service.port.name", naming.port_name)
    elif port.get("number"):
        errors += checks.port(port["number"], f"{path}.service.port.number")
    else:
        errors.append(fielderrors.required(path, "port name or number is required"))
    return errors


class IngressClasses(Behaviour):
    """The controller is for good."""

    generation = ("spec",)

    def default(self, obj: Object) -> None:
        parameters = (obj.get("spec") or {}).get("parameters")
        if parameters is not None:
            parameters.setdefault("scope", "Cluster")

    def check(self, obj: Object) -> list[FieldError]:
        controller = (obj.get("spec") or {}).get("controller", "")
        if not controller:
            return [fielderrors.required("spec.controller")]
        if "/" not in controller:
            why = 'must be a domain-prefixed path (such as "acme.io/foo")'
            return [fielderrors.invalid("spec.controller", controller, why)]
        return []

    def validate_update(self, obj: Object, old: Object) -> list[FieldError]:
        return checks.immutable(obj["spec"], old["spec"], "spec.", "controller") + self.check(obj)


class NetworkPolicies(Behaviour):
    """The types follow from what the policy says."""

    generation = ("spec",)

    def default(self, obj: Object) -> None:
        spec = obj.setdefault("spec", {})
        for rule in [*(spec.get("ingress") or []), *(spec.get("egress") or [])]:
            for port in rule.get("ports") or []:
                port.setdefault("protocol", "TCP")
        if not spec.get("policyTypes"):
            spec["policyTypes"] = ["Ingress", *(["Egress"] if spec.get("egress") else [])]

    def check(self, obj: Object) -> list[FieldError]:
        spec = obj.get("spec") or {}
        errors = checks.label_selector(spec.get("podSelector"), "spec.podSelector")
        for member, peers in (("ingress", "from"), ("egress", "to")):
            for index, rule in enumerate(spec.get(member) or []):
                path = f"spec.{member}[{index}]"
                for at, port in enumerate(rule.get("ports") or []):
                    errors += _policy_port(port, f"{path}.ports[{at}]")
                for at, peer in enumerate(rule.get(peers) or []):
                    errors += _peer(peer, f"{path}.{peers}[{at}]")
        for index, kind in enumerate(spec.get("policyTypes") or []):
            errors += checks.one_of(kind, f"spec.policyTypes[{index}]", ("Egress", "Ingress"))
        return errors


def _policy_port(port: Object, path: str) -> list[FieldError]:
    errors = checks.one_of(port.get("protocol"), f"{path}.protocol", ("SCTP", "TCP", "UDP"))
    if port.get("port") is not None:
        errors += checks.port_or_name(port["port"], f"{path}.port")
    return errors


def _peer(peer: Object, path: str) -> list[FieldError]:
    errors = []
    for member in ("podSelector", "namespaceSelector"):
        errors += checks.label_selector(peer.get(member), f"{path}.{member}")
    if not peer:
        errors.append(fielderrors.required(path, "must specify a peer"))
    elif "ipBlock" in peer and len(peer) > 1:
        why = "may not specify both ipBlock and another peer"
        errors.append(fielderrors.forbidden(path, why))
    return errors
