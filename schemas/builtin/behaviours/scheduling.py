"""Where a pod may be placed: affinity, spread over topologies, tolerations, gates.

Follows core validation validateAffinity, ValidateNodeSelector, validateTopologySpreadConstraints,
ValidateTolerations.
"""

from collections import Counter

from inkube.schemas import fielderrors
from inkube.schemas.builtin.behaviours import checks, naming
from inkube.schemas.fielderrors import FieldError
from inkube.schemas.metadata import names
from inkube.schemas.objects import Object

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
_UNSATISFIABLE = ("DoNotSchedule", "ScheduleAnyway")
_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_POSITIVE = "must be greater than zero"
_WEIGHT = "must be in the range 1-100"


def affinity(given: Object, path: str) -> list[FieldError]:
    """validateAffinity."""
    errors = []
    nodes = given.get("nodeAffinity") or {}
    if nodes.get(_REQUIRED) is not None:
        errors += node_selector(nodes[_REQUIRED], f"{path}.nodeAffinity.{_REQUIRED}")
    for index, term in enumerate(nodes.get(_PREFERRED) or ()):
        place = f"{path}.nodeAffinity.{_PREFERRED}[{index}]"
        errors += _weight(term, place)
        preference = term.get("preference") or {}
        errors += _node_term(preference, f"{place}.preference", values=False)
    for member in ("podAffinity", "podAntiAffinity"):
        pods = given.get(member) or {}
        for index, term in enumerate(pods.get(_REQUIRED) or ()):
            errors += _pod_term(term, f"{path}.{member}.{_REQUIRED}[{index}]")
        for index, term in enumerate(pods.get(_PREFERRED) or ()):
            place = f"{path}.{member}.{_PREFERRED}[{index}]"
            errors += _weight(term, place)
            errors += _pod_term(term.get("podAffinityTerm") or {}, f"{place}.podAffinityTerm")
    return errors


def _weight(term: Object, path: str) -> list[FieldError]:
    weight = term.get("weight", 0)
    if 0 < weight <= 100:
        return []
    return [fielderrors.invalid(f"{path}.weight", weight, _WEIGHT)]


def node_selector(selector: Object, path: str) -> list[FieldError]:
    """ValidateNodeSelector."""
    terms = selector.get("nodeSelectorTerms") or []
    place = f"{path}.nodeSelectorTerms"
    if not terms:
        return [fielderrors.required(place, "must have at least one node selector term")]
    errors = []
    for index, term in enumerate(terms):
        errors += _node_term(term, f"{place}[{index}]")
    return errors


def _node_term(term: Object, path: str, *, values: bool = True) -> list[FieldError]:
    errors = []
    for index, requirement in enumerate(term.get("matchExpressions") or ()):
        errors += _node_requirement(requirement, f"{path}.matchExpressions[{index}]", values=values)
    for index, requirement in enumerate(term.get("matchFields") or ()):
        errors += _field_requirement(requirement, f"{path}.matchFields[{index}]")
    return errors


def _node_requirement(given: Object, path: str, *, values: bool) -> list[FieldError]:
    operator, listed = given.get("operator", ""), given.get("values") or []
    errors = []
    if operator in ("In", "NotIn"):
        if not listed:
            why = "must be specified when `operator` is 'In' or 'NotIn'"
            errors.append(fielderrors.required(f"{path}.values", why))
    elif operator in ("Exists", "DoesNotExist"):
        if listed:
            why = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
            errors.append(fielderrors.forbidden(f"{path}.values", why))
    elif operator in ("Gt", "Lt"):
        if len(listed) != 1:
            why = "must be specified single value when `operator` is 'Lt' or 'Gt'"
            errors.append(fielderrors.required(f"{path}.values", why))
    else:
        why = "not a valid selector operator"
        errors.append(fielderrors.invalid(f"{path}.operator", operator, why))
    errors += checks.named(given.get("key", ""), f"{path}.key", names.label_key)
    if values:
        for index, value in enumerate(listed):
            errors += checks.named(value, f"{path}.values[{index}]", names.label_value)
    return errors


def _field_requirement(given: Object, path: str) -> list[FieldError]:
    operator, listed = given.get("operator", ""), given.get("values") or []
    errors = []
    if operator not in ("In", "NotIn"):
        why = "not a valid selector operator"
        errors.append(fielderrors.invalid(f"{path}.operator", operator, why))
    elif len(listed) != 1:
        why = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector"
        errors.append(fielderrors.required(f"{path}.values", why))
    if given.get("key") != "metadata.name":
        why = "not a valid field selector key"
        errors.append(fielderrors.invalid(f"{path}.key", given.get("key", ""), why))
        return errors
    for index, value in enumerate(listed):
        errors += checks.named(value, f"{path}.values[{index}]", naming.subdomain)
    return errors


def _pod_term(term: Object, path: str) -> list[FieldError]:
    errors = []
    for member in ("labelSelector", "namespaceSelector"):
        errors += checks.label_selector(term.get(member), f"{path}.{member}")
    for name in term.get("namespaces") or ():
        errors += checks.named(name, f"{path}.namespace", naming.label)
    errors += _label_keys(term, path)
    key = term.get("topologyKey", "")
    if not key:
        errors.append(fielderrors.required(f"{path}.topologyKey", "can not be empty"))
    return errors + checks.named(key, f"{path}.topologyKey", names.label_key)


def _label_keys(term: Object, path: str) -> list[FieldError]:
    """validateMatchLabelKeysAndMismatchLabelKeys."""
    selector = term.get("labelSelector")
    members = ("matchLabelKeys", "mismatchLabelKeys")
    errors = []
    seen: set[str] = set(term.get(members[0]) or ())
    for member in members:
        for index, key in enumerate(term.get(member) or ()):
            place = f"{path}.{member}[{index}]"
            if selector is None:
                why = "must not be specified when labelSelector is not set"
                errors.append(fielderrors.forbidden(place, why))
                continue
            errors += checks.named(key, place, names.label_key)
            if member == members[1] and key in seen:
                why = "exists in both matchLabelKeys and mismatchLabelKeys"
                errors.append(fielderrors.invalid(place, key, why))
    return errors


def topology_spread(constraints: list[Object], path: str) -> list[FieldError]:
    """validateTopologySpreadConstraints."""
    errors = []
    pairs = [(one.get("topologyKey", ""), one.get("whenUnsatisfiable", "")) for one in constraints]
    to_come = Counter(pairs)
    for index, one in enumerate(constraints):
        place = f"{path}[{index}]"
        skew, action = one.get("maxSkew", 0), one.get("whenUnsatisfiable", "")
        if skew <= 0:
            errors.append(fielderrors.invalid(f"{place}.maxSkew", skew, _POSITIVE))
        if not one.get("topologyKey"):
            errors.append(fielderrors.required(f"{place}.topologyKey", "can not be empty"))
        if action not in _UNSATISFIABLE:
            where = f"{place}.whenUnsatisfiable"
            errors.append(fielderrors.not_supported(where, action, _UNSATISFIABLE))
        pair = pairs[index]
        to_come[pair] -= 1
        if to_come[pair]:
            where = f"{place}.{{topologyKey, whenUnsatisfiable}}"
            errors.append(fielderrors.duplicate(where, f"{{{pair[0]}, {pair[1]}}}"))
        errors += _min_domains(one, place)
        for member in ("nodeAffinityPolicy", "nodeTaintsPolicy"):
            policy = one.get(member)
            if policy is not None and policy not in ("Honor", "Ignore"):
                choices = ("Honor", "Ignore")
                errors.append(fielderrors.not_supported(f"{place}.{member}", policy, choices))
        errors += _label_keys(one, place)
        errors += checks.label_selector(one.get("labelSelector"), f"{place}.labelSelector")
    return errors


def _min_domains(one: Object, path: str) -> list[FieldError]:
    domains, action = one.get("minDomains"), one.get("whenUnsatisfiable", "")
    if domains is None:
        return []
    errors = []
    if domains <= 0:
        errors.append(fielderrors.invalid(f"{path}.minDomains", domains, _POSITIVE))
    if action != "DoNotSchedule":
        why = f"can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {action}"
        errors.append(fielderrors.invalid(f"{path}.minDomains", domains, why))
    return errors


def toleration(given: Object, path: str) -> list[FieldError]:
    """One of ValidateTolerations."""
    errors = []
    key, operator = given.get("key", ""), given.get("operator", "")
    value, effect = given.get("value", ""), given.get("effect", "")
    if key:
        errors += checks.named(key, f"{path}.key", names.label_key)
    elif operator != "Exists":
        why = (
            "operator must be Exists when `key` is empty, which means "
            '"match all values and all keys"'
        )
        errors.append(fielderrors.invalid(f"{path}.operator", operator, why))
    if given.get("tolerationSeconds") is not None and effect != "NoExecute":
        why = "effect must be 'NoExecute' when `tolerationSeconds` is set"
        errors.append(fielderrors.invalid(f"{path}.effect", effect, why))
    if operator in ("", "Equal"):
        problems = names.label_value(value)
        if problems:
            errors.append(fielderrors.invalid(f"{path}.operator", value, ";".join(problems)))
    elif operator == "Exists":
        if value:
            why = "value must be empty when `operator` is 'Exists'"
            errors.append(fielderrors.invalid(f"{path}.operator", value, why))
    else:
        choices = ("Equal", "Exists")
        errors.append(fielderrors.not_supported(f"{path}.operator", operator, choices))
    if effect:
        errors += checks.one_of(effect, f"{path}.effect", _EFFECTS)
    return errors


def gates(given: list[Object], path: str) -> list[FieldError]:
    """validateSchedulingGates."""
    errors = []
    seen: set[str] = set()
    for index, gate in enumerate(given):
        name = gate.get("name", "")
        errors += checks.named(name, f"{path}[{index}]", names.label_key)
        if name in seen:
            errors.append(fielderrors.duplicate(f"{path}[{index}]", name))
        seen.add(name)
    return errors
