"""Ingresses, their classes and network policies.

Follows pkg/apis/networking/v1/defaults.go and pkg/apis/networking/validation.
"""

import ipaddress

from inkube.schemas import fielderrors
from inkube.schemas.builtin.behaviours import addresses, checks, naming
from inkube.schemas.builtin.behaviours.base import BuiltinStrategy, same
from inkube.schemas.fielderrors import FieldError
from inkube.schemas.metadata import names
from inkube.schemas.objects import Object
from inkube.schemas.strategy import Context

_PATH_TYPES = ("Exact", "ImplementationSpecific", "Prefix")


class Ingresses(BuiltinStrategy):
    """Rules lead to backends; every path has a type."""

    def check(self, obj: Object) -> list[FieldError]:
        spec = obj.get("spec") or {}
        errors = []
        if not spec.get("rules") and spec.get("defaultBackend") is None:
            why = "either `defaultBackend` or `rules` must be specified"
            errors.append(fielderrors.invalid("spec", spec.get("rules") or None, why))
        if spec.get("defaultBackend") is not None:
            errors += _backend(spec["defaultBackend"], "spec.defaultBackend")
        for index, rule in enumerate(spec.get("rules") or []):
            errors += _rule(rule, f"spec.rules[{index}]")
        if spec.get("ingressClassName"):
            name = spec["ingressClassName"]
            errors += checks.named(name, "spec.ingressClassName", naming.subdomain)
        for index, tls in enumerate(spec.get("tls") or ()):
            place = f"spec.tls[{index}]"
            for at, host in enumerate(tls.get("hosts") or ()):
                errors += _host(host, f"{place}.hosts[{at}]", wild=host.startswith("*."))
            if tls.get("secretName"):
                errors += checks.named(tls["secretName"], f"{place}.secretName", naming.subdomain)
        return errors

    def validate(self, context: Context, obj: Object) -> list[FieldError]:
        """A new one says its class in one place, or the same in both."""
        errors = super().validate(context, obj)
        told = (obj["metadata"].get("annotations") or {}).get("kubernetes.io/ingress.class")
        name = (obj.get("spec") or {}).get("ingressClassName")
        if told is not None and name is not None and told != name:
            why = "must match `ingressClassName` when both are specified"
            place = "annotations.kubernetes.io/ingress.class"
            errors.append(fielderrors.invalid(place, told, why))
        return errors

    def warnings_on_create(self, context: Context, obj: Object) -> list[str]:
        if "kubernetes.io/ingress.class" in (obj["metadata"].get("annotations") or {}):
            advice = "please use 'spec.ingressClassName' instead"
            return [f'annotation "kubernetes.io/ingress.class" is deprecated, {advice}']
        return []


def _host(host: str, path: str, *, wild: bool) -> list[FieldError]:
    """ValidateIngressTLS and validateIngressRules: a name, perhaps of everything below one."""
    if not wild:
        return checks.named(host, path, names.dns1123_subdomain)
    return checks.named(host, path, naming.wildcard_domain)


def _rule(rule: Object, path: str) -> list[FieldError]:
    errors = []
    host = rule.get("host", "")
    if host:
        if addresses.parse(host) is not None:
            why = "must be a DNS name, not an IP address"
            errors.append(fielderrors.invalid(f"{path}.host", host, why))
        errors += _host(host, f"{path}.host", wild="*" in host)
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
    elif text and kind != "ImplementationSpecific":
        errors += _plain_path(text, f"{path}.path")
    return errors + _backend(entry.get("backend") or {}, f"{path}.backend")


def _plain_path(text: str, path: str) -> list[FieldError]:
    """A path that nothing reads in two ways."""
    wrong = [part for part in ("//", "/./", "/../", "%2f", "%2F") if part in text]
    wrong += [end for end in ("/..", "/.") if text.endswith(end)]
    texts = {"/..": "cannot end with '/..'", "/.": "cannot end with '/.'"}
    return [
        fielderrors.invalid(path, text, texts.get(part, f"must not contain '{part}'"))
        for part in wrong
    ]


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


class IngressClasses(BuiltinStrategy):
    """The controller is for good."""

    def default(self, obj: Object) -> None:
        parameters = (obj.get("spec") or {}).get("parameters")
        if parameters is not None:
            parameters.setdefault("scope", "Cluster")

    def check(self, obj: Object) -> list[FieldError]:
        spec = obj.get("spec") or {}
        controller = spec.get("controller", "")
        errors: list[FieldError] = []
        if not controller:
            errors.append(fielderrors.required("spec.controller"))
        elif "/" not in controller:
            why = 'must be a domain-prefixed path (such as "acme.io/foo")'
            errors.append(fielderrors.invalid("spec.controller", controller, why))
        if spec.get("parameters") is not None:
            errors += _parameters(spec["parameters"], "spec.parameters")
        return errors

    def check_update(self, obj: Object, old: Object) -> list[FieldError]:
        return checks.immutable(obj["spec"], old["spec"], "spec.", "controller") + self.check(obj)


def _parameters(given: Object, path: str) -> list[FieldError]:
    """validateIngressClassParametersReference."""
    scope: str | None = given.get("scope")
    namespace = given.get("namespace")
    errors: list[FieldError] = []
    if given.get("apiGroup"):
        errors += checks.named(given["apiGroup"], f"{path}.apiGroup", naming.subdomain)
    for member in ("kind", "name"):
        if not given.get(member):
            errors.append(fielderrors.required(f"{path}.{member}"))
        else:
            errors += checks.named(given[member], f"{path}.{member}", names.path_segment)
    if scope is None:
        return [*errors, fielderrors.required(f"{path}.scope")]
    if scope not in ("Cluster", "Namespace"):
        choices = ("Cluster", "Namespace")
        errors.append(fielderrors.not_supported(f"{path}.scope", scope, choices))
    why = f"`parameters.scope` is set to '{scope}'"
    if scope == "Namespace" and not namespace:
        errors.append(fielderrors.required(f"{path}.namespace", why))
    elif scope == "Namespace":
        errors += checks.named(str(namespace), f"{path}.namespace", naming.label)
    elif scope == "Cluster" and namespace is not None:
        errors.append(fielderrors.forbidden(f"{path}.namespace", why))
    return errors


class NetworkPolicies(BuiltinStrategy):
    """The types follow from what the policy says."""

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
        types = spec.get("policyTypes") or []
        if len(types) > 2:
            why = "may not specify more than two policyTypes"
            return [*errors, fielderrors.invalid("spec.policyTypes", types, why)]
        for index, kind in enumerate(types):
            errors += checks.one_of(kind, f"spec.policyTypes[{index}]", ("Egress", "Ingress"))
        return errors


def _policy_port(port: Object, path: str) -> list[FieldError]:
    errors = checks.one_of(port.get("protocol"), f"{path}.protocol", ("TCP", "UDP", "SCTP"))
    first, last = port.get("port"), port.get("endPort")
    if first is not None:
        errors += checks.port_or_name(first, f"{path}.port")
    if last is None:
        return errors
    place = f"{path}.endPort"
    if first is None:
        why = "may not be specified when `port` is not specified"
        errors.append(fielderrors.invalid(place, last, why))
    elif isinstance(first, str):
        why = "may not be specified when `port` is non-numeric"
        errors.append(fielderrors.invalid(place, last, why))
    else:
        if last < first:
            why = "must be greater than or equal to `port`"
            errors.append(fielderrors.invalid(place, first, why))
        errors += checks.port(last, place)
    return errors


def _block(block: Object, path: str) -> list[FieldError]:
    """ValidateIPBlock."""
    given = block.get("cidr", "")
    if not given:
        return [fielderrors.required(f"{path}.cidr")]
    errors = addresses.check_block(given, f"{path}.cidr")
    try:
        outer = ipaddress.ip_network(given, strict=False)
    except ValueError:
        return errors
    for index, text in enumerate(block.get("except") or ()):
        place = f"{path}.except[{index}]"
        errors += addresses.check_block(text, place)
        try:
            inner = ipaddress.ip_network(text, strict=False)
        except ValueError:
            continue
        same_family = inner.version == outer.version
        within = same_family and inner[0] in outer and inner.prefixlen > outer.prefixlen
        if not within:
            why = "must be a strict subset of `cidr`"
            errors.append(fielderrors.invalid(place, text, why))
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
    if peer.get("ipBlock") is not None:
        errors += _block(peer["ipBlock"], f"{path}.ipBlock")
    return errors


class Addresses(BuiltinStrategy):
    """IPAddresses: named as they are, of one parent for good."""

    def check(self, obj: Object) -> list[FieldError]:
        errors = _canonical(obj["metadata"].get("name", ""), "metadata.name")
        parent, path = (obj.get("spec") or {}).get("parentRef"), "spec.parentRef"
        if parent is None:
            return [*errors, fielderrors.required(path)]
        if parent.get("group"):
            errors += checks.named(parent["group"], f"{path}.group", naming.subdomain)
        for member in ("resource", "name"):
            if not parent.get(member):
                errors.append(fielderrors.required(f"{path}.{member}"))
            else:
                errors += checks.named(parent[member], f"{path}.{member}", names.path_segment)
        if parent.get("namespace"):
            errors += checks.named(parent["namespace"], f"{path}.namespace", names.path_segment)
        return errors

    def check_update(self, obj: Object, old: Object) -> list[FieldError]:
        new, before = ((one.get("spec") or {}).get("parentRef") or {} for one in (obj, old))
        if same(new, before):
            return []
        members = ("group", "resource", "namespace", "name")
        parts = (f'"{one.title()}":"{new.get(one, "")}"' for one in members)
        shown = fielderrors.Verbatim("{" + ",".join(parts) + "}")
        return [fielderrors.invalid("spec.parentRef", shown, checks.IMMUTABLE)]


def _canonical(text: str, path: str) -> list[FieldError]:
    """IsValidCanonicalIP: written as everybody writes it."""
    errors = addresses.check(text, path)
    found = addresses.parse(text)
    if not errors and found is not None and str(found) != text:
        why = f'must be in canonical form ("{found}")'
        errors.append(fielderrors.invalid(path, text, why))
    return errors


class ServiceRanges(BuiltinStrategy):
    """ServiceCIDRs: at most one range of each family, for good."""

    def check(self, obj: Object) -> list[FieldError]:
        given = (obj.get("spec") or {}).get("cidrs") or []
        path = "spec.cidrs"
        if not given:
            return [fielderrors.required(path, "at least one CIDR required")]
        errors: list[FieldError] = []
        if len(given) > 2:
            why = "must only hold 2 values"
            errors.append(fielderrors.invalid(path, given, why))
        families = {
            found.version for text in given if (found := addresses.parse(text.split("/")[0]))
        }
        for index, text in enumerate(given):
            errors += addresses.check_block(text, f"{path}[{index}]")
        if len(given) == 2 and not errors and len(families) < 2:
            why = (
                "may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and "
                "2001:db8::/64"
            )
            errors.append(fielderrors.invalid(path, given, why))
        return errors

    def check_update(self, obj: Object, old: Object) -> list[FieldError]:
        return checks.immutable(obj.get("spec") or {}, old.get("spec") or {}, "spec.", "cidrs")
