"""Resource quotas: the usage of an object, the quotas that apply to it, and their requirements.

Amounts are `Quantity`, by the resource names of quotas. Each name applies to the kinds that
`counted_resources` yields. Where `devices` are None, ResourceClaims use no extended resources.
Follows apiserver/pkg/quota/v1 and pkg/quota/v1/evaluator/core.
"""

from collections.abc import Iterable, Iterator, Mapping

from inkube.schemas import quantity
from inkube.schemas.builtin import affinity, podqos, resourcenames
from inkube.schemas.builtin.devicequotas import DEVICES, IMPLICIT, Devices
from inkube.schemas.objects import Object
from inkube.schemas.quantity import Quantity

Amounts = dict[str, Quantity]
_COUNT = "count/"
_CORE = frozenset({
    "configmaps", "persistentvolumeclaims", "pods", "replicationcontrollers", "resourcequotas",
    "secrets", "services",
})  # fmt: skip
"""Plurals of the core group that are also names in quotas."""
_SERVICES = ("services.nodeports", "services.loadbalancers")
_COMPUTE = ("cpu", "memory", "ephemeral-storage")
_REQUESTS, _LIMITS, _HUGE = "requests.", "limits.", "hugepages-"
_CLASS = ".storageclass.storage.k8s.io/"
CLAIMS = ("resource.k8s.io", "resourceclaims")
_STORAGE = "requests.storage"
_SAID = frozenset({
    "cpu", "memory", "requests.cpu", "requests.memory", "limits.cpu", "limits.memory",
})  # fmt: skip
"""Amounts that every container must set if a quota limits them."""
_BETA_CLASS = "volume.beta.kubernetes.io/storage-class"
_MAXDEVICES = 32  # that a request for all devices can receive: AllocationResultsMaxSize
_ONE = Quantity(1)
_CHANGING = frozenset({("", "services"), ("", "persistentvolumeclaims"), CLAIMS})
"""Kinds whose updates are charged, too."""
_ENDED = ("Succeeded", "Failed")


def hard(quota: Object) -> dict[str, str]:
    """Return the limits of a quota, by name."""
    return (quota.get("spec") or {}).get("hard") or {}


def counted_resources(name: str, devices: Devices | None = None) -> Iterator[tuple[str, str]]:
    """Yield the group and plural of the objects that a quota name counts."""
    place = _counted_resource(name)
    if place is not None:
        yield place
    if devices is not None and devices.counts(name):
        yield CLAIMS


def _counted_resource(name: str) -> tuple[str, str] | None:
    if name.startswith(_COUNT):
        plural, _, group = name.removeprefix(_COUNT).partition(".")
        return group, plural
    if name in _SERVICES:
        return "", "services"
    if name in _CORE:
        return "", name
    if name == _STORAGE or _CLASS in name:
        return "", "persistentvolumeclaims"
    if name.endswith(DEVICES):
        return CLAIMS
    return ("", "pods") if _is_compute(name) else None


def _is_compute(name: str) -> bool:
    plain = name.removeprefix(_REQUESTS)
    if name.startswith(IMPLICIT):
        return True
    if name in _COMPUTE or name.removeprefix(_LIMITS) in _COMPUTE or plain in _COMPUTE:
        return True
    if plain.startswith(_HUGE):
        return True
    return name.startswith(_REQUESTS) and resourcenames.is_extended(plain)


def charges_updates(group: str, plural: str) -> bool:
    """Return whether an update of such an object can increase its usage."""
    return (group, plural) in _CHANGING


def about(quota: Object, group: str, plural: str, devices: Devices | None = None) -> list[str]:
    """Return the names in a quota that count objects of a kind."""
    return [name for name in hard(quota) if (group, plural) in counted_resources(name, devices)]


def uncounted(quota: Object, group: str, plural: str, devices: Devices | None = None) -> list[str]:
    """Return the limits about a kind in the status, sorted, if the usage of one is not known; else
    an empty list."""
    observed = quota.get("status") or {}
    names = [
        name
        for name in observed.get("hard") or ()
        if (group, plural) in counted_resources(name, devices)
    ]
    used = observed.get("used") or {}
    return [] if all(name in used for name in names) else sorted(names)


def usage(group: str, plural: str, obj: Object, devices: Devices | None = None) -> Amounts:
    """Return the usage of one object, for every name that counts its kind."""
    count = f"{_COUNT}{plural}.{group}" if group else f"{_COUNT}{plural}"
    used = {count: _ONE}
    if (group, plural) == ("", "pods"):
        if (obj.get("status") or {}).get("phase") not in _ENDED:
            used |= _of_pod(obj.get("spec") or {})
    elif (group, plural) == ("", "services"):
        used |= _of_service(obj.get("spec") or {})
    elif (group, plural) == ("", "persistentvolumeclaims"):
        used |= _of_claim(obj)
    elif (group, plural) == CLAIMS:
        used |= _of_devices(obj.get("spec") or {})
        if devices is not None:
            used |= _of_resources(used, obj, devices)
    elif not group and plural in _CORE:
        used[plural] = _ONE
    return used


def total(
    quota: Object,
    name: str,
    place: tuple[str, str],
    objects: Iterable[Object],
    devices: Devices | None = None,
) -> Quantity:
    """Return the usage of a name by all objects of a kind that match the quota."""
    amount = quantity.ZERO
    for obj in objects:
        if matches(quota, *place, obj):
            amount = amount.add(usage(*place, obj, devices).get(name, quantity.ZERO))
    return amount


def _of_pod(spec: Object) -> Amounts:
    used = {"pods": _ONE}
    for name, amount in pod_total(spec, "requests").items():
        if name in _COMPUTE or name.startswith(_HUGE):
            used[name] = amount
        used[f"{_REQUESTS}{name}"] = amount
    for name, amount in pod_total(spec, "limits").items():
        if name in _COMPUTE:
            used[f"{_LIMITS}{name}"] = amount
    return used


def pod_total(spec: Object, member: str) -> Amounts:
    """Return the requests or limits of a whole pod (component-helpers/resource PodRequests,
    PodLimits).

    Regular containers and restartable init containers run at the same time, other init containers
    one after the other. The pod's overhead is added.
    """
    amounts: Amounts = {}
    for container in spec.get("containers") or ():
        _add(amounts, _own(container, member))
    staying: Amounts = {}
    greatest: Amounts = {}
    for container in spec.get("initContainers") or ():
        own = _own(container, member)
        if container.get("restartPolicy") == "Always":
            _add(amounts, own)
            _add(staying, own)
            own = dict(staying)
        else:
            _add(own, staying)
        for name, amount in own.items():
            greatest[name] = max(greatest.get(name, amount), amount)
    for name, amount in greatest.items():
        if name not in amounts or amount > amounts[name]:
            amounts[name] = amount
    whole = ((spec.get("resources") or {}).get(member)) or {}
    amounts |= {name: quantity.parse(text) for name, text in whole.items()}
    for name, text in (spec.get("overhead") or {}).items():
        if member == "requests" or name in amounts:
            _add(amounts, {name: quantity.parse(text)})
    return amounts


def _own(container: Object, member: str) -> Amounts:
    given = (container.get("resources") or {}).get(member) or {}
    return {name: quantity.parse(text) for name, text in given.items()}


def _add(amounts: Amounts, more: Mapping[str, Quantity]) -> None:
    for name, amount in more.items():
        amounts[name] = amounts[name].add(amount) if name in amounts else amount


def _of_service(spec: Object) -> Amounts:
    kind, ports = spec.get("type", "ClusterIP"), spec.get("ports") or []
    node_ports = len(ports) if kind in ("NodePort", "LoadBalancer") else 0
    if kind == "LoadBalancer" and spec.get("allocateLoadBalancerNodePorts") is False:
        node_ports = sum(1 for port in ports if port.get("nodePort"))
    return {
        "services": _ONE,
        "services.nodeports": Quantity(node_ports),
        "services.loadbalancers": Quantity(int(kind == "LoadBalancer")),
    }


def _of_claim(claim: Object) -> Amounts:
    spec = claim.get("spec") or {}
    annotations = claim["metadata"].get("annotations") or {}
    name = annotations.get(_BETA_CLASS, spec.get("storageClassName") or "")
    used = {"persistentvolumeclaims": _ONE}
    if name:
        used[f"{name}{_CLASS}persistentvolumeclaims"] = _ONE
    asked = ((spec.get("resources") or {}).get("requests") or {}).get("storage")
    if asked is not None:
        used[_STORAGE] = quantity.parse(asked)
        if name:
            used[f"{name}{_CLASS}{_STORAGE}"] = used[_STORAGE]
    return used


def _of_devices(spec: Object) -> Amounts:
    """Return the number of devices by class. Of alternatives, the largest request counts."""
    used: Amounts = {}
    for request in (spec.get("devices") or {}).get("requests") or ():
        if request.get("exactly") is not None:
            _add(used, _devices(request["exactly"]))
            continue
        most: Amounts = {}
        for alternative in request.get("firstAvailable") or ():
            for name, amount in _devices(alternative).items():
                most[name] = max(most.get(name, amount), amount)
        _add(used, most)
    return used


def _devices(request: Object) -> Amounts:
    every = request.get("allocationMode") == "All"
    count = _MAXDEVICES if every else request.get("count", 1)
    return {f"{request.get('deviceClassName', '')}{DEVICES}": Quantity(count)}


def _of_resources(by_class: Amounts, claim: Object, devices: Devices) -> Amounts:
    """Return the extended resources of a claim that do not count for its pod already."""
    pod = devices.pod_of(claim)
    counted = {} if pod is None else usage("", "pods", pod)
    left = {
        name: amount.subtract(counted.get(name, quantity.ZERO))
        for name, amount in devices.resources(by_class).items()
    }
    return {name: amount for name, amount in left.items() if amount.sign > 0}


def matches(quota: Object, group: str, plural: str, obj: Object) -> bool:
    """Return whether the object matches every scope of the quota."""
    return all(is_in_scope(requirement, group, plural, obj) for requirement in scopes(quota))


def scopes(quota: Object) -> list[Object]:
    """Return the scopes of a quota, as requirements."""
    spec = quota.get("spec") or {}
    wanted: list[Object] = [
        {"scopeName": name, "operator": "Exists"} for name in spec.get("scopes") or ()
    ]
    return wanted + list((spec.get("scopeSelector") or {}).get("matchExpressions") or ())


def is_in_scope(requirement: Object, group: str, plural: str, obj: Object) -> bool:
    """Return whether the object matches a requirement on a scope."""
    scope, spec = requirement.get("scopeName"), obj.get("spec") or {}
    if scope == "VolumeAttributesClass" and (group, plural) == ("", "persistentvolumeclaims"):
        observed = obj.get("status") or {}
        named = [
            spec.get("volumeAttributesClassName"),
            observed.get("currentVolumeAttributesClassName"),
            (observed.get("modifyVolumeStatus") or {}).get("targetVolumeAttributesClassName"),
        ]
        present = [name for name in named if name]
        return any(_selects(requirement, name) for name in present or [""])
    if (group, plural) != ("", "pods"):
        return False
    if scope == "PriorityClass":
        return _selects(requirement, spec.get("priorityClassName") or "")
    if scope in ("Terminating", "NotTerminating"):
        return ends(spec) is bool(scope == "Terminating")
    if scope in ("BestEffort", "NotBestEffort"):
        best: bool = podqos.of_spec(spec) == "BestEffort"
        return best is (scope == "BestEffort")
    return scope == "CrossNamespacePodAffinity" and _looks_elsewhere(spec)


def ends(spec: Object) -> bool:
    """Return whether a pod has a limited time (IsTerminating)."""
    deadline: int | None = spec.get("activeDeadlineSeconds")
    return deadline is not None and deadline >= 0


def _selects(requirement: Object, value: str) -> bool:
    operator = requirement.get("operator")
    values: list[str] = requirement.get("values") or []
    if operator == "In":
        return bool(value in values)
    if operator == "NotIn":
        return bool(value not in values)
    return bool(value) == (operator == "Exists")


def _looks_elsewhere(spec: Object) -> bool:
    """Return whether affinity selects pods of other namespaces (usesCrossNamespacePodAffinity)."""
    return any(
        term.get("namespaces") or term.get("namespaceSelector") is not None
        for term in affinity.pod_terms(spec)
    )


def unsaid(names: Iterable[str], pod: Object) -> str:
    """Return an error text for limited names that containers do not set, with the containers; "" if
    all are set, or if the pod sets its resources as a whole."""
    wanted = sorted(_SAID.intersection(names))
    spec = pod.get("spec") or {}
    whole = spec.get("resources") or {}
    for name in (*(whole.get("requests") or ()), *(whole.get("limits") or ())):
        if name in ("cpu", "memory") or name.startswith(_HUGE):  # IsSupportedPodLevelResource
            return ""
    missing: dict[str, list[str]] = {}
    for member in ("containers", "initContainers"):
        for container in spec.get(member) or ():
            said = _said(container)
            for name in wanted:
                if name not in said:
                    missing.setdefault(name, []).append(container.get("name", ""))
    parts = [f"{name} for: {','.join(sorted(missing[name]))}" for name in sorted(missing)]
    return f"must specify {'; '.join(parts)}" if parts else ""


def _said(container: Object) -> set[str]:
    requests, limits = (_own(container, member) for member in ("requests", "limits"))
    return {*requests, *(f"{_REQUESTS}{n}" for n in requests), *(f"{_LIMITS}{n}" for n in limits)}


def exceeded(bounds: Mapping[str, str], usage: Amounts, requested: Amounts) -> list[str]:
    """Return the names whose usage would exceed the limits."""
    return [
        name
        for name, amount in sorted(requested.items())
        if usage[name].add(amount) > quantity.parse(bounds[name])
    ]


def refusal(
    quota: str,
    exceeded_names: list[str],
    requested: Amounts,
    usage: Amounts,
    bounds: Mapping[str, str],
) -> str:
    """Return the reference's text for exceeded names."""
    shown: tuple[dict[str, str], ...] = (
        {name: quantity.canonical(requested[name]) for name in exceeded_names},
        {name: quantity.canonical(usage[name]) for name in exceeded_names},
        {name: bounds[name] for name in exceeded_names},
    )
    asked, there, most = (",".join(f"{n}={one[n]}" for n in exceeded_names) for one in shown)
    return f"exceeded quota: {quota}, requested: {asked}, used: {there}, limited: {most}"
