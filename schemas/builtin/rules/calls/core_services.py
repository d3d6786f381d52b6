"""Irregular rules of services: those that depend on the type, and dual-stack addresses."""

from collections.abc import Collection

from inkube.schemas import fielderrors
from inkube.schemas.builtin import addresses
from inkube.schemas.builtin.rules.frames import Frame
from inkube.schemas.fielderrors import FieldError
from inkube.schemas.golang import gotext
from inkube.schemas.gotypes import internal
from inkube.schemas.metadata import names
from inkube.schemas.objects import Object

_HINTS = "service.kubernetes.io/topology-aware-hints"
_MODE = "service.kubernetes.io/topology-mode"
_RANGES = "service.beta.kubernetes.io/load-balancer-source-ranges"
_STICKY_SECONDS = 10_800
_BALANCED = "may only be used when `type` is 'LoadBalancer'"
_ONCE = "may not change once set"
_POLICIES = ("PreferDualStack", "RequireDualStack", "SingleStack")
_MOST_ADDRESSES = 2


def by_type(spec: Object) -> None:
    """Set defaults that depend on the type and the session affinity (SetDefaults_Service)."""
    if spec["sessionAffinity"] == "ClientIP":
        config = spec.get("sessionAffinityConfig") or {}
        client = config.get("clientIP") or {}
        if client.get("timeoutSeconds") is None:
            client = {**client, "timeoutSeconds": _STICKY_SECONDS}
        spec["sessionAffinityConfig"] = {**config, "clientIP": client}
    elif spec["sessionAffinity"] == "None":
        spec.pop("sessionAffinityConfig", None)
    if is_reached_from_outside(spec) and not spec.get("externalTrafficPolicy"):
        spec["externalTrafficPolicy"] = "Cluster"
    kind = spec["type"]
    within = kind in ("ClusterIP", "LoadBalancer", "NodePort")
    if within and spec.get("internalTrafficPolicy") is None:
        spec["internalTrafficPolicy"] = "Cluster"
    if kind == "LoadBalancer" and spec.get("allocateLoadBalancerNodePorts") is None:
        spec["allocateLoadBalancerNodePorts"] = True


def port_itself(port: Object) -> int | None:
    """Return the default target port: the port itself."""
    number: int = port.get("port", 0)
    return number


def is_reached_from_outside(spec: Object) -> bool:
    """Return whether clients outside the cluster can reach the service
    (apiservice.ExternallyAccessible)."""
    kind = spec.get("type")
    return kind in ("LoadBalancer", "NodePort") or (
        kind == "ClusterIP" and bool(spec.get("externalIPs"))
    )


def _is_headless(spec: Object) -> bool:
    return bool(spec.get("clusterIPs") == ["None"])


def topology(value: Object, _path: str, _frame: Frame) -> list[FieldError]:
    """Check that an annotation and its deprecated name have equal values."""
    given = value["metadata"].get("annotations") or {}
    if _MODE not in given or _HINTS not in given or given[_MODE] == given[_HINTS]:
        return []
    why = f"must match annotations[{_HINTS}] when both are specified"
    return [fielderrors.invalid(f"metadata.annotations[{_MODE}]", given[_MODE], why)]


# ports


def ports_needed(value: Object, path: str, _frame: Frame) -> list[FieldError]:
    """Check that a service has ports, unless it is headless or has the type ExternalName."""
    if value.get("ports") or _is_headless(value) or value.get("type") == "ExternalName":
        return []
    return [fielderrors.required(f"{path}.ports")]


def node_ports_once(value: list[Object], path: str, _frame: Frame) -> list[FieldError]:
    """Check that no two ports have the same node port and protocol."""
    errors, seen = [], set()
    for index, port in enumerate(value):
        number = port.get("nodePort")
        if number and (port.get("protocol"), number) in seen:
            errors.append(fielderrors.duplicate(f"{path}[{index}].nodePort", number))
        seen.add((port.get("protocol"), number))
    return errors


def ports_once(value: list[Object], path: str, _frame: Frame) -> list[FieldError]:
    """Check that no two ports have the same number and protocol."""
    errors, seen = [], set()
    for index, port in enumerate(value):
        key = {"protocol": port.get("protocol", ""), "port": port.get("port", 0)}
        if tuple(key.values()) in seen:
            shown = internal.value("core.ServicePort", key)
            errors.append(fielderrors.duplicate(f"{path}[{index}]", shown))
        seen.add(tuple(key.values()))
    return errors


# addresses


def addresses_of_type(value: Object, path: str, _frame: Frame) -> list[FieldError]:
    """Check the addresses that a type requires or forbids."""
    kind = value.get("type")
    if kind in ("LoadBalancer", "NodePort") and _is_headless(value):
        why = f"may not be set to 'None' for {kind} services"
        return [fielderrors.invalid(f"{path}.clusterIPs[0]", "None", why)]
    if kind != "ExternalName":
        return []
    place, name = f"{path}.externalName", (value.get("externalName") or "").removesuffix(".")
    if not name:
        return [fielderrors.required(place)]
    return [fielderrors.invalid(place, name, why) for why in names.subdomain(name)]


def cluster_addresses(value: Object, path: str, frame: Frame) -> list[FieldError]:
    """Check the cluster IPs and IP families of a Service
    (ValidateServiceClusterIPsRelatedFields)."""
    if value.get("type") == "ExternalName":
        return []
    address, many = value.get("clusterIP") or "", value.get("clusterIPs") or []
    place = f"{path}.clusterIPs"
    errors: list[FieldError] = []
    if address and not many:
        errors.append(fielderrors.required(place))
    elif address and many[0] != address:
        errors.append(fielderrors.invalid(place, many, "first value must match `clusterIP`"))
    elif many and not address:
        why = "must be empty when `clusterIP` is not specified"
        errors.append(fielderrors.invalid(place, many, why))
    errors += _families(value, path)
    wrong = _each_address(many, place, (frame.old or {}).get("clusterIPs") or ())
    errors += wrong
    if len(many) > _MOST_ADDRESSES:
        errors.append(fielderrors.invalid(place, many, "may only hold up to 2 values"))
    return errors if wrong else errors + _paired(value, many, place)


def _families(spec: Object, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    seen: set[str] = set()
    for index, family in enumerate(spec.get("ipFamilies") or ()):
        place = f"{path}.ipFamilies[{index}]"
        if family not in ("IPv4", "IPv6"):
            errors.append(fielderrors.not_supported(place, family, ("IPv4", "IPv6")))
        if family in seen:
            errors.append(fielderrors.duplicate(place, family))
        seen.add(family)
    policy = spec.get("ipFamilyPolicy")
    if policy is not None and policy not in _POLICIES:
        errors.append(fielderrors.not_supported(f"{path}.ipFamilyPolicy", policy, _POLICIES))
    return errors


def _each_address(many: list[str], path: str, before: Collection[str]) -> list[FieldError]:
    errors: list[FieldError] = []
    for index, each in enumerate(many):
        if index == 0 and each == "None":
            if len(many) > 1:
                why = "'None' must be the first and only value"
                errors.append(fielderrors.invalid(path, many, why))
        elif each not in before:
            errors += addresses.check(each, f"{path}[{index}]")
    return errors


def _paired(spec: Object, many: list[str], path: str) -> list[FieldError]:
    """Check that there is at most one address for each IP family, in the order of the families."""
    versions = [found.version for each in many if (found := addresses.parse(each)) is not None]
    errors: list[FieldError] = []
    if len(many) > 1 and len(set(versions)) != len(many):
        why = "may specify no more than one IP for each IP family"
        errors.append(fielderrors.invalid(path, many, why))
    if _is_headless(spec):
        return errors
    pairs = zip(many, versions, spec.get("ipFamilies") or (), strict=False)
    for index, (each, version, family) in enumerate(pairs):
        if family in ("IPv4", "IPv6") and f"IPv{version}" != family:
            why = f"expected an {family} value as indicated by `ipFamilies[{index}]`"
            errors.append(fielderrors.invalid(f"{path}[{index}]", each, why))
    return errors


def external_address(how: str, value: str, path: str, frame: Frame) -> list[FieldError]:
    """Check an address outside the cluster. An update can keep an invalid one. `how`: `strict`, or
    `lenient` as before the gate StrictIPCIDRValidation was on."""
    if value in ((frame.old or {}).get("externalIPs") or ()):
        return addresses.check_reachable(value, path)
    found = addresses.check(value, path, strict=how == "strict")
    return found or addresses.check_reachable(value, path)


# load balancers


def source_ranges(how: str, value: Object, path: str, frame: Frame) -> list[FieldError]:
    """Check the permitted source ranges of a load balancer, in the field or in the deprecated
    annotation. `how`: `strict`, or `lenient` as before the gate StrictIPCIDRValidation was on."""
    strict = how == "strict"
    ranges, place = value.get("loadBalancerSourceRanges") or [], f"{path}.LoadBalancerSourceRanges"
    balanced = value.get("type") == "LoadBalancer"
    if ranges:
        errors = [] if balanced else [fielderrors.forbidden(place, _BALANCED)]
        before = {each.strip() for each in (frame.old or {}).get("loadBalancerSourceRanges") or ()}
        for index, block in enumerate(ranges):
            if block.strip() not in before:
                errors += addresses.check_block(block.strip(), f"{place}[{index}]", strict=strict)
        return errors
    root = frame.root
    said = (root.obj["metadata"].get("annotations") or {}).get(_RANGES)
    if said is None:
        return []
    place = f"metadata.annotations[{_RANGES}]"
    errors = [] if balanced else [fielderrors.forbidden(place, _BALANCED)]
    old = ((root.old or {}).get("metadata") or {}).get("annotations") or {}
    if said.strip() and (root.old is None or old.get(_RANGES) != said):
        for block in said.strip().split(","):
            errors += addresses.check_block(block.strip(), place, strict=strict)
    return errors


def balancer_class(value: Object, path: str, _frame: Frame) -> list[FieldError]:
    """Check the load balancer class of a Service (validateLoadBalancerClassField)."""
    name, place = value.get("loadBalancerClass"), f"{path}.loadBalancerClass"
    if name is None:
        return []
    if value.get("type") != "LoadBalancer":
        return [fielderrors.forbidden(place, _BALANCED)]
    return [fielderrors.invalid(place, name, why) for why in names.label_key(name)]


def is_external(frame: Frame) -> bool:
    """Return whether clients outside the cluster can reach the service."""
    return is_reached_from_outside(frame.obj)


def is_health_checked(frame: Frame) -> bool:
    """Return whether the service has a port for health checks (NeedsHealthCheck)."""
    return _is_health_checked(frame.obj)


def _is_health_checked(spec: Object) -> bool:
    return spec.get("type") == "LoadBalancer" and spec.get("externalTrafficPolicy") == "Local"


# changes


def kept(value: Object, _path: str, frame: Frame) -> list[FieldError]:
    """Report changes of immutable fields (ValidateServiceUpdate)."""
    spec, before = value["spec"], (frame.old or {})["spec"]
    errors: list[FieldError] = []
    if "ExternalName" not in (spec.get("type"), before.get("type")):
        errors += _kept_addresses(spec, before)
        errors += _kept_families(spec, before)
    if spec.get("type") == before.get("type") == "LoadBalancer":
        name = spec.get("loadBalancerClass")
        if name != before.get("loadBalancerClass"):
            errors.append(fielderrors.invalid("spec.loadBalancerClass", name, _ONCE))
    errors += balancer_class(spec, "spec", frame)
    checked = _is_health_checked(spec) and _is_health_checked(before)
    if checked and spec.get("healthCheckNodePort") != before.get("healthCheckNodePort"):
        errors.append(fielderrors.forbidden("spec.healthCheckNodePort", "field is immutable"))
    return errors


def _kept_addresses(spec: Object, before: Object) -> list[FieldError]:
    """Check that an update only adds or releases the second cluster IP
    (validateUpgradeDowngradeClusterIPs)."""
    if _is_headless(spec) and _is_headless(before):
        return []
    now, was = spec.get("clusterIPs") or [], before.get("clusterIPs") or []
    if len(now) == len(was):
        return [
            fielderrors.invalid(f"spec.clusterIPs[{index}]", now, _ONCE)
            for index, (new, old) in enumerate(zip(now, was, strict=True))
            if new != old
        ]
    errors = []
    if not now:
        why = "primary clusterIP can not be unset"
        errors.append(fielderrors.invalid("spec.clusterIPs[0]", now or None, why))
    if now and was and now[0] != was[0]:
        errors.append(fielderrors.invalid("spec.clusterIPs[0]", now, _ONCE))
    if len(was) > len(now) == 1 and spec.get("ipFamilyPolicy") != "SingleStack":
        why = "must be set to 'SingleStack' when releasing the secondary clusterIP"
        policy = spec.get("ipFamilyPolicy")
        errors.append(fielderrors.invalid("spec.ipFamilyPolicy", policy, why))
    return errors


def _kept_families(spec: Object, before: Object) -> list[FieldError]:
    """Check that an update only adds or releases the second IP family
    (validateUpgradeDowngradeIPFamilies)."""
    if _is_headless(spec) or _is_headless(before):
        return []
    now, was = spec.get("ipFamilies") or [], before.get("ipFamilies") or []
    place = "spec.ipFamilies[0]"
    if len(now) == len(was):
        changed = [new for new, old in zip(now, was, strict=True) if new != old]
        return [fielderrors.invalid(place, now, _ONCE) for _ in changed]
    errors = []
    addresses_now = spec.get("clusterIPs") or None
    if len(was) > len(now) and not addresses_now:
        errors.append(fielderrors.invalid(place, now or None, "primary ipFamily can not be unset"))
    if now and was and now[0] != was[0]:
        errors.append(fielderrors.invalid(place, addresses_now, _ONCE))
    if len(was) > len(now) == 1 and spec.get("ipFamilyPolicy") != "SingleStack":
        why = "must be set to 'SingleStack' when releasing the secondary ipFamily"
        policy = spec.get("ipFamilyPolicy")
        errors.append(fielderrors.invalid("spec.ipFamilyPolicy", policy, why))
    return errors


def odd_addresses(value: Object, _path: str, _frame: Frame) -> list[str]:
    """Return the warnings about addresses of a Service that are not in their canonical form."""
    spec = value["spec"]
    found: list[str] = []
    if spec.get("clusterIP", "None") not in ("", "None") and spec.get("type") != "ExternalName":
        for index, each in enumerate(spec.get("clusterIPs") or ()):
            found += addresses.warnings(each, f"spec.clusterIPs[{index}]")
    for index, each in enumerate(spec.get("externalIPs") or ()):
        found += addresses.warnings(each, f"spec.externalIPs[{index}]")
    found += addresses.warnings(spec.get("loadBalancerIP") or "", "spec.loadBalancerIP")
    for index, each in enumerate(spec.get("loadBalancerSourceRanges") or ()):
        found += addresses.block_warnings(each, f"spec.loadBalancerSourceRanges[{index}]")
    return found


def odd_ip(value: Object, path: str, _frame: Frame) -> list[str]:
    """Return the warnings about an address of a load balancer that is not canonical."""
    return addresses.warnings(value.get("ip") or "", path)


def odd_endpoints(value: Object, _path: str, _frame: Frame) -> list[str]:
    """Return the warnings about addresses of Endpoints that are not in their canonical form."""
    return [
        text
        for at, subset in enumerate(value.get("subsets") or ())
        for member in ("addresses", "notReadyAddresses")
        for index, each in enumerate(subset.get(member) or ())
        for text in addresses.warnings(each.get("ip", ""), f"subsets[{at}].{member}[{index}].ip")
    ]


def ignored_and_deprecated(value: Object, _path: str, _frame: Frame) -> list[str]:
    """Return the warnings about fields of a Service that are ignored or deprecated
    (pkg/api/service/warnings.go, GetWarningsForService)."""
    spec = value["spec"]
    found = []
    if _HINTS in (value["metadata"].get("annotations") or {}):
        found.append(f"annotation {_HINTS} is deprecated, please use {_MODE} instead")
    kind = gotext.quote("ExternalName")
    is_external = spec.get("type") == "ExternalName"
    if spec.get("type") == "ClusterIP" and spec.get("clusterIP") == "None":
        if spec.get("loadBalancerIP"):
            found.append("spec.loadBalancerIP is ignored for headless services")
        if spec.get("externalIPs"):
            found.append("spec.externalIPs is ignored for headless services")
        if spec.get("sessionAffinity", "None") != "None":
            found.append("spec.SessionAffinity is ignored for headless services")
    elif spec.get("externalIPs") and not is_external:
        found.append(
            "spec.externalIPs is deprecated and may no longer be implemented in some clusters"
        )
    if spec.get("externalIPs") and is_external:
        found.append(f"spec.externalIPs is ignored when spec.type is {kind}")
    if spec.get("externalName") and not is_external:
        found.append(f"spec.externalName is ignored when spec.type is not {kind}")
    if spec.get("trafficDistribution") == "PreferClose":
        close, zone = gotext.quote("PreferClose"), gotext.quote("PreferSameZone")
        found.append(f"spec.trafficDistribution: {close} is deprecated; use {zone}")
    return found
