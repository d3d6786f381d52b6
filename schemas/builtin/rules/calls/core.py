"""Irregular rules of small core kinds: ConfigMaps, Secrets, LimitRanges, ResourceQuotas, nodes."""

import base64
import itertools
import math
import re
from collections.abc import Iterator

from inkube.schemas import fielderrors, quantity
from inkube.schemas.builtin import addresses, resourcenames
from inkube.schemas.builtin.rules.frames import Frame
from inkube.schemas.builtin.rules.words import IMMUTABLE
from inkube.schemas.fielderrors import FieldError
from inkube.schemas.golang import gojson, gotext, unmarshal
from inkube.schemas.gotypes import internal
from inkube.schemas.metadata import names
from inkube.schemas.objects import Object

MAX_SIZE = 1024 * 1024
"""The largest size of all values of a Secret or ConfigMap together, in bytes."""
_MAX_MILLI = (2**63 - 1) // 1000
"""The largest amount that has thousandths as an int64 (resource.MaxMilliValue)."""
_FEATURE = re.compile(r"[A-Z][A-Za-z0-9]*(/[A-Za-z0-9]+)*")

# ConfigMaps and Secrets


def keys_apart(value: dict[str, str], path: str, frame: Frame) -> list[FieldError]:
    """Report keys that are in both data and binaryData."""
    why = "duplicate of key present in binaryData"
    both = value.keys() & (frame.obj.get("binaryData") or {}).keys()
    return [fielderrors.invalid(f"{path}[{key}]", key, why) for key in sorted(both)]


def config_size(value: Object, _path: str, _frame: Frame) -> list[FieldError]:
    """Check the total size of all values."""
    size = sum(len(text.encode()) for text in (value.get("data") or {}).values())
    size += _bytes(value.get("binaryData") or {})
    return [fielderrors.too_long("[]", MAX_SIZE)] if size > MAX_SIZE else []


def secret_size(value: dict[str, str], path: str, _frame: Frame) -> list[FieldError]:
    """Check the total size of all values."""
    return [fielderrors.too_long(path, MAX_SIZE)] if _bytes(value) > MAX_SIZE else []


def _bytes(data: dict[str, str]) -> int:
    return sum(len(base64.b64decode(text or "")) for text in data.values())


def fold_plain_texts(obj: Object) -> None:
    """Move the values of stringData to data, in base64."""
    plain = obj.pop("stringData", None) or {}
    if plain:
        encoded = {key: base64.b64encode(text.encode()).decode() for key, text in plain.items()}
        obj["data"] = {**(obj.get("data") or {}), **encoded}


_ACCOUNT = "kubernetes.io/service-account.name"
_DOCKER = {
    "kubernetes.io/dockercfg": ".dockercfg",
    "kubernetes.io/dockerconfigjson": ".dockerconfigjson",
}


def secret_type(value: Object, _path: str, _frame: Frame) -> list[FieldError]:
    """Check that a Secret has the members that its type requires."""
    kind, data = value.get("type", ""), value.get("data") or {}
    missing: list[str] = []
    if kind == "kubernetes.io/service-account-token":
        given = (value["metadata"].get("annotations") or {}).get(_ACCOUNT)
        return [] if given else [fielderrors.required(f"metadata.annotations[{_ACCOUNT}]")]
    if kind in _DOCKER:
        return _docker(data, _DOCKER[kind])
    if kind == "kubernetes.io/basic-auth":
        missing = [] if data.keys() & {"username", "password"} else ["username", "password"]
    elif kind == "kubernetes.io/ssh-auth":
        missing = [] if data.get("ssh-privatekey") else ["ssh-privatekey"]
    elif kind == "kubernetes.io/tls":
        missing = [key for key in ("tls.crt", "tls.key") if key not in data]
    return [fielderrors.required(f"data[{key}]") for key in missing]


def _docker(data: dict[str, str], key: str) -> list[FieldError]:
    if key not in data:
        return [fielderrors.required(f"data[{key}]")]
    try:
        found = gojson.loads(base64.b64decode(data[key] or ""))
    except unmarshal.DecodeError as error:
        why = error.text
    else:
        what = {list: "array", str: "string", bool: "bool", int: "number", float: "number"}
        given = what.get(type(found))
        if given is None:
            return []
        why = f"json: cannot unmarshal {given} into Go value of type map[string]interface {{}}"
    return [fielderrors.invalid(f"data[{key}]", "<secret contents redacted>", why)]


def mountable(value: Object, _path: str, frame: Frame) -> list[str]:
    """Warn as warnIfHasEnforceMountableSecretsAnnotation does."""
    key = "kubernetes.io/enforce-mountable-secrets"
    before = frame.old or {}
    new, old = (one.get("metadata", {}).get("annotations") or {} for one in (value, before))
    if key not in new or key in old:
        return []
    advice = "prefer separate namespaces to isolate access to mounted secrets"
    return [f"metadata.annotations[{key}]: deprecated in v1.32+; {advice}"]


# limit ranges


def limits(item: Object) -> None:
    """Set missing defaults of a limit from its other members (SetDefaults_LimitRangeItem)."""
    most = {**(item.get("max") or {}), **(item.get("default") or {})}
    requests = {**(item.get("min") or {}), **most, **(item.get("defaultRequest") or {})}
    for member, values in (("default", most), ("defaultRequest", requests)):
        if values:
            item[member] = values


def limit_type(value: str, path: str, frame: Frame) -> list[FieldError]:
    """Check the type of a limit (validateLimitRangeTypeName). Each type can occur one time."""
    errors = [fielderrors.invalid(path, value, why) for why in names.label_key(value)]
    standard = ("Container", "Pod", "PersistentVolumeClaim")
    if not errors and "/" not in value and value not in standard:
        why = "must be a standard limit type or fully qualified"
        errors.append(fielderrors.invalid(path, value, why))
    assert frame.up is not None, "a limit is an item"
    if frame.up.firsts("limits", "type").get(value, frame.obj) is not frame.obj:
        errors.append(fielderrors.duplicate(path, value))
    return errors


def limited_resource(value: str, path: str, frame: Frame) -> list[FieldError]:
    """Check the name of a limited resource (validateLimitRangeResourceName)."""
    if frame.obj.get("type") in ("Pod", "Container"):
        return resourcenames.check_of_container(value, path)
    return resourcenames.check(value, path)


_AMOUNTS = ("min", "max", "default", "defaultRequest", "maxLimitRequestRatio")
_BOUNDS = (
    ("min", "max", "min", "min", "min value {} is greater than max value {}"),
    ("min", "defaultRequest", "defaultRequest", "defaultRequest",
     "min value {} is greater than default request value {}"),
    ("defaultRequest", "max", "defaultRequest", "defaultRequest",
     "default request value {} is greater than max value {}"),
    ("defaultRequest", "default", "defaultRequest", "defaultRequest",
     "default request value {} is greater than default limit value {}"),
    ("min", "default", "default", "min", "min value {} is greater than default value {}"),
    ("default", "max", "default", "max", "default value {} is greater than max value {}"),
)  # fmt: skip
"""Lower bound, upper bound, the field of the error, the value that the error shows, the text."""


def bounds(value: Object, path: str, _frame: Frame) -> list[FieldError]:
    """Check how the amounts of each resource relate to each other."""
    kinds = [
        member
        for member in _AMOUNTS
        if value.get("type") != "Pod" or member not in ("default", "defaultRequest")
    ]
    known = {name for member in kinds for name in value.get(member) or {}}
    errors: list[FieldError] = []
    for name in sorted(known):
        amounts = {
            member: (value.get(member) or {})[name]
            for member in kinds
            if name in (value.get(member) or {})
        }
        errors += _order(amounts, name, path)
        errors += _ratio(amounts, f"{path}.maxLimitRequestRatio[{name}]")
        errors += _overcommit(amounts, name, f"{path}.defaultRequest[{name}]")
    return errors


def _order(amounts: dict[str, str], name: str, path: str) -> list[FieldError]:
    errors = []
    for low, high, blamed, shown, text in _BOUNDS:
        lower, upper = amounts.get(low), amounts.get(high)
        if lower and upper and quantity.parse(lower) > quantity.parse(upper):
            why = text.format(lower, upper)
            errors.append(fielderrors.invalid(f"{path}.{blamed}[{name}]", amounts[shown], why))
    return errors


def _ratio(amounts: dict[str, str], path: str) -> list[FieldError]:
    given = amounts.get("maxLimitRequestRatio")
    if not given:
        return []
    ratio, errors = quantity.parse(given), []
    if ratio < quantity.Quantity(1):
        errors.append(fielderrors.invalid(path, given, f"ratio {given} is less than 1"))
    if "min" in amounts and "max" in amounts:
        least, most = (quantity.parse(amounts[member]) for member in ("min", "max"))
        is_small = all(each.scaled(0) < _MAX_MILLI for each in (ratio, least, most))
        low, high = (each.scaled(-3 if is_small else 0) for each in (least, most))
        bound = high / low if low else math.copysign(math.inf, high) if high else math.nan
        if (ratio.scaled(-3) / 1000 if is_small else ratio.scaled(0)) > bound:
            shown = f"{bound:f}" if math.isfinite(bound) else f"{bound:+f}".replace("inf", "Inf")
            why = f"ratio {given} is greater than max/min = {shown}"
            errors.append(fielderrors.invalid(path, given, why))
    return errors


def _overcommit(amounts: dict[str, str], name: str, path: str) -> list[FieldError]:
    default, request = amounts.get("default"), amounts.get("defaultRequest")
    if resourcenames.may_overcommit(name) or not default or not request:
        return []
    if quantity.parse(default) == quantity.parse(request):
        return []
    why = f"default value {default} must equal to defaultRequest value {request} in {name}"
    return [fielderrors.invalid(path, request, why)]


# quotas

_SCOPES = frozenset({
    "Terminating", "NotTerminating", "BestEffort", "NotBestEffort", "PriorityClass",
    "CrossNamespacePodAffinity", "VolumeAttributesClass",
})  # fmt: skip
_CONFLICTS = ({"BestEffort", "NotBestEffort"}, {"Terminating", "NotTerminating"})
_PLAIN_SCOPES = (
    "Terminating", "NotTerminating", "BestEffort", "NotBestEffort", "CrossNamespacePodAffinity",
)  # fmt: skip
_COMPUTE = frozenset({
    "pods", "cpu", "memory", "limits.cpu", "limits.memory", "requests.cpu", "requests.memory",
})  # fmt: skip
_UNFIT = "unsupported scope applied to resource"


def quota(value: dict[str, str], path: str, _frame: Frame) -> list[FieldError]:
    """Check the names and the amounts of the limited or used resources."""
    errors: list[FieldError] = []
    for name, amount in sorted(value.items()):
        errors += resourcenames.check_of_quota(name, f"{path}[{name}]")
        errors += resourcenames.check_amount(name, amount, f"{path}[{name}]")
    return errors


def _fits(scope: str, name: str) -> bool:
    """Return whether a scope supports a resource (IsResourceQuotaScopeValidForResource). Every
    scope supports names that are not standard."""
    if name not in resourcenames.OF_QUOTAS and not resourcenames.is_huge(name):
        return True
    if scope == "BestEffort":
        return name == "pods"
    if scope == "VolumeAttributesClass":
        return name in ("persistentvolumeclaims", "requests.storage")
    return name in _COMPUTE


def _unfit(scope: str, error: FieldError, frame: Frame, earlier: int) -> list[FieldError]:
    """Return the error one time for each limited resource that the scope does not fit. `earlier`
    is the number of errors before it: with them, the result has one error more than a response can
    contain. For each scope, all resources are checked only one time."""
    if scope not in _SCOPES:
        return []
    counts: dict[str, int] = frame.facts.setdefault("unfit", {})
    if scope not in counts:
        counts[scope] = sum(not _fits(scope, name) for name in frame.obj.get("hard") or {})
    return [error] * min(counts[scope], fielderrors.MOST + 1 - earlier)


def scopes(value: list[str], path: str, frame: Frame) -> list[FieldError]:
    """Check that the scopes are known, fit the resources and do not conflict
    (validateResourceQuotaScopes)."""
    errors = []
    for scope in value:
        if scope not in _SCOPES:
            errors.append(fielderrors.invalid(path, value, "unsupported scope"))
        errors += _unfit(scope, fielderrors.invalid(path, value, _UNFIT), frame, len(errors))
    return errors + [
        fielderrors.invalid(path, value, "conflicting scopes")
        for pair in _CONFLICTS
        if pair <= set(value)
    ]


def scopes_kept(value: list[str] | None, path: str, frame: Frame) -> list[FieldError]:
    """Check that an update does not change the scopes. Their order does not matter."""
    before = ((frame.old or {}).get("spec") or {}).get("scopes") or []
    return [] if set(value or ()) == set(before) else [fielderrors.invalid(path, value, IMMUTABLE)]


def scope_selector(value: list[Object], path: str, frame: Frame) -> list[FieldError]:
    """Check the requirements of a scope selector (validateScopedResourceSelectorRequirement). As
    upstream, the paths of errors have no index."""
    errors: list[FieldError] = []
    shown = internal.value("core.ScopeSelector", frame.obj["scopeSelector"])
    for one in value:
        scope = one.get("scopeName", "")
        if scope not in _SCOPES:
            errors.append(fielderrors.invalid(f"{path}.scopeName", scope, "unsupported scope"))
        errors += _unfit(scope, fielderrors.invalid(path, shown, _UNFIT), frame, len(errors))
        errors += _operator(one, path)
    named = {one.get("scopeName") for one in value}
    return errors + [
        fielderrors.invalid(path, frame.obj.get("scopes"), "conflicting scopes")
        for pair in _CONFLICTS
        if pair <= named
    ]


def _operator(requirement: Object, path: str) -> list[FieldError]:
    operator, values, errors = requirement.get("operator", ""), requirement.get("values") or [], []
    if requirement.get("scopeName") in _PLAIN_SCOPES and operator != "Exists":
        names = ", ".join(f"ResourceQuotaScope{name}" for name in _PLAIN_SCOPES[:-1])
        why = f"must be 'Exists' when scope is any of {names} or ResourceQuotaScope"
        place = f"{path}.operator"
        errors.append(fielderrors.invalid(place, operator, f"{why}{_PLAIN_SCOPES[-1]}"))
    if operator in ("In", "NotIn"):
        if not values:
            why = "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector"
            errors.append(fielderrors.required(f"{path}.values", why))
    elif operator in ("Exists", "DoesNotExist"):
        if values:
            why = "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector"
            errors.append(fielderrors.invalid(f"{path}.values", values, why))
    else:
        why = "not a valid selector operator"
        errors.append(fielderrors.invalid(f"{path}.operator", operator, why))
    return errors


# nodes

_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")


def node_capacity(obj: Object) -> None:
    """Set the default of allocatable: the capacity (SetDefaults_NodeStatus)."""
    status = obj.get("status") or {}
    if status.get("capacity") and not status.get("allocatable"):
        status["allocatable"] = dict(status["capacity"])


def pod_ranges(spec: Object) -> None:
    """Keep podCIDR and the first of podCIDRs equal. If they differ, podCIDR is used."""
    one, many = spec.get("podCIDR") or "", spec.get("podCIDRs") or []
    if one and (not many or many[0] != one):
        spec["podCIDRs"] = [one]
    elif many and not one:
        spec["podCIDR"] = many[0]


def taints(value: list[Object], path: str, _frame: Frame) -> list[FieldError]:
    """Check taints, which must be unique by key and effect (validateNodeTaints)."""
    errors: list[FieldError] = []
    seen: set[tuple[str, str]] = set()
    for index, taint in enumerate(value):
        place = f"{path}[{index}]"
        key, text, effect = (taint.get(member, "") for member in ("key", "value", "effect"))
        errors += [fielderrors.invalid(f"{place}.key", key, why) for why in names.label_key(key)]
        problems = names.label_value(text)
        if problems:
            errors.append(fielderrors.invalid(f"{place}.value", text, ";".join(problems)))
        if not effect:
            errors.append(fielderrors.required(f"{place}.effect"))
        elif effect not in _EFFECTS:
            errors.append(fielderrors.not_supported(f"{place}.effect", effect, _EFFECTS))
        if (key, effect) in seen:
            shown = internal.value("core.Taint", taint)
            why = "taints must be unique by key and effect pair"
            errors.append(fielderrors.duplicate(place, shown, why))
        seen.add((key, effect))
    return errors


def labels_of_template(obj: Object) -> None:
    """Set the default of the labels and the selector of a ReplicationController: its template's
    labels."""
    spec = obj.get("spec") or {}
    labels = ((spec.get("template") or {}).get("metadata") or {}).get("labels")
    if labels and not spec.get("selector"):
        spec["selector"] = dict(labels)
    if labels and not obj["metadata"].get("labels"):
        obj["metadata"]["labels"] = dict(labels)


def selected_by_labels(template: Object, path: str, frame: Frame) -> list[FieldError]:
    """Check that the selector of a ReplicationController matches the labels of its template."""
    labels = (template.get("metadata") or {}).get("labels")
    if (frame.obj.get("selector") or {}).items() <= (labels or {}).items():
        return []
    why = "`selector` does not match template `labels`"
    return [fielderrors.invalid(f"{path}.metadata.labels", labels, why)]


def pod_ranges_of_families(value: list[str], path: str, _frame: Frame) -> list[FieldError]:
    """Check the CIDRs, at most one for each IP family."""
    errors: list[FieldError] = []
    for index, text in enumerate(value):
        errors += addresses.check_block(text, f"{path}[{index}]")
    if len(value) < 2:
        return errors
    parsed = [addresses.block(text) for text in value]
    if None in parsed:
        index = parsed.index(None)
        why = f"invalid CIDR[{index}]: <nil> (invalid CIDR address: {value[index]})"
        why = f"invalid PodCIDRs. failed to check with dual stack with error:{why}"
        errors.append(fielderrors.internal(path, why))
    families = {found and found[0].version for found in parsed}
    if families != {4, 6} or len(value) > 2:
        why = "may specify no more than one CIDR for each IP family"
        errors.append(fielderrors.invalid(path, value, why))
    return errors


def odd_ranges(value: list[str], path: str, _frame: Frame) -> list[str]:
    """Return the warnings about CIDRs that are not in their canonical form."""
    return [
        text
        for index, each in enumerate(value)
        for text in addresses.block_warnings(each, f"{path}[{index}]")
    ]


def declared_features(value: list[str], path: str, _frame: Frame) -> Iterator[FieldError]:
    """Yield errors for names of features that a node cannot declare, and for their order
    (validateNodeDeclaredFeatures)."""
    for index, (before, name) in enumerate(itertools.pairwise(["", *value])):
        place = f"{path}[{index}]"
        if index and name == before:
            yield fielderrors.duplicate(place, name)
        elif name < before:
            yield fielderrors.invalid(place, name, "list must be sorted alphabetically")
        if not _FEATURE.fullmatch(name):
            why = (
                f"invalid feature name {gotext.quote(name)}: must start with an UpperCamelCase"
                " segment, with subsequent segments separated by '/' (e.g., MyFeature or"
                " MyFeature/mySubFeature), and contain only alphanumeric characters and slashes"
            )
            yield fielderrors.invalid(place, name, why)


def node_amounts(value: Object, _path: str, _frame: Frame) -> list[FieldError]:
    """Check the resources of a node (ValidateNodeResources)."""
    status = value.get("status") or {}
    return [
        error
        for member in ("capacity", "allocatable")
        for name, amount in sorted((status.get(member) or {}).items())
        for error in resourcenames.check_amount(name, amount, f"status.{member}.{name}")
    ]


def addresses_once(value: list[Object], path: str, _frame: Frame) -> Iterator[FieldError]:
    """Yield errors for addresses of a node that are listed twice (ValidateNodeUpdate)."""
    seen: set[tuple[str, str]] = set()
    for index, one in enumerate(value):
        place = (one.get("type", ""), one.get("address", ""))
        if place in seen:
            shown = internal.value("core.NodeAddress", one)
            yield fielderrors.duplicate(f"{path}[{index}]", shown)
        seen.add(place)


# endpoints


def endpoint_address(how: str, value: str, path: str, frame: Frame) -> list[FieldError]:
    """Check an address of Endpoints. An update can keep an invalid address of the old object
    (IsValidIPForLegacyField). `how`: `strict`, or `lenient` as before the gate
    StrictIPCIDRValidation was on."""
    known = _known_addresses(frame.root.old)
    return [] if value in known else addresses.check(value, path, strict=how == "strict")


def _known_addresses(old: Object | None) -> set[str]:
    return {
        each.get("ip", "")
        for subset in (old or {}).get("subsets") or ()
        for member in ("addresses", "notReadyAddresses")
        for each in subset.get(member) or ()
    }


# namespaces and events


def is_elsewhere(member: str, frame: Frame) -> bool:
    """Return whether an event has another namespace than its object. Events about objects without a
    namespace must be in some system namespaces."""
    namespace = frame.obj["metadata"].get("namespace", "")
    about = (frame.obj.get(member) or {}).get("namespace", "")
    if frame.obj.get("eventTime"):
        return not about and namespace not in ("default", "kube-system")
    return bool(about != namespace and (about or namespace != "default"))
