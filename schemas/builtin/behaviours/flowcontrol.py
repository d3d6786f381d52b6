"""Flow schemas and priority levels: which requests they are about, how many may run.

Follows pkg/apis/flowcontrol/validation and pkg/apis/flowcontrol/v1/defaults.go.
"""

import math
from collections.abc import Callable, Sequence

from inkube.schemas import fielderrors
from inkube.schemas.builtin.behaviours import checks
from inkube.schemas.builtin.behaviours.extensions import Counted
from inkube.schemas.fielderrors import FieldError
from inkube.schemas.metadata import names
from inkube.schemas.objects import Object

_MAX_PRECEDENCE, _MAX_QUEUES = 10_000, 10_000_000
_MAX_BITS = 60  # of the hash that deals a hand of queues (shufflesharding.RequiredEntropyBits)
_VERBS = (
    "create", "delete", "deletecollection", "get", "list", "patch", "proxy", "update", "watch",
)  # fmt: skip
_QUEUING = {"queues": 64, "handSize": 8, "queueLengthLimit": 50}


class FlowSchemas(Counted):
    """Says whom its rules are about, and on what."""

    def default(self, obj: Object) -> None:
        spec = obj.setdefault("spec", {})
        if not spec.get("matchingPrecedence"):
            spec["matchingPrecedence"] = 1000

    def check(self, obj: Object) -> list[FieldError]:
        spec, name = obj.get("spec") or {}, obj["metadata"].get("name", "")
        errors = _precedence(spec.get("matchingPrecedence", 0), name)
        method = spec.get("distinguisherMethod")
        kinds = ("ByNamespace", "ByUser")
        if method is not None and method.get("type") not in kinds:
            shown = fielderrors.Verbatim(f'{{"Type":"{method.get("type", "")}"}}')
            errors.append(fielderrors.not_supported("spec.distinguisherMethod.type", shown, kinds))
        level = (spec.get("priorityLevelConfiguration") or {}).get("name", "")
        place = "spec.priorityLevelConfiguration.name"
        if level:
            errors += checks.named(level, place, names.dns1123_subdomain)
        else:
            errors.append(fielderrors.required(place, "must reference a priority level"))
        for index, rule in enumerate(spec.get("rules") or []):
            errors += _rule(rule, f"spec.rules[{index}]")
        return errors


class PriorityLevels(Counted):
    """Says how many requests run, and where the others wait."""

    def default(self, obj: Object) -> None:
        spec = obj.setdefault("spec", {})
        exempt, limited = spec.get("exempt"), spec.get("limited")
        if exempt is not None:
            exempt.setdefault("nominalConcurrencyShares", 0)
            exempt.setdefault("lendablePercent", 0)
        if limited is None:
            return
        limited.setdefault("nominalConcurrencyShares", 30)
        limited.setdefault("lendablePercent", 0)
        queuing = (limited.get("limitResponse") or {}).get("queuing")
        if queuing is not None:
            for member, value in _QUEUING.items():
                if not queuing.get(member):
                    queuing[member] = value

    def check(self, obj: Object) -> list[FieldError]:
        spec, name = obj.get("spec") or {}, obj["metadata"].get("name", "")
        kind, exempt, limited = spec.get("type", ""), spec.get("exempt"), spec.get("limited")
        errors = []
        if (name == "exempt") != (kind == "Exempt"):
            why = "must be 'Exempt' if and only if `name` is 'exempt'"
            errors.append(fielderrors.invalid("spec.type", kind, why))
        if kind == "Exempt":
            if exempt is not None:
                errors += _shares(exempt, "spec.exempt")
            if limited is not None:
                why = "must be nil if the type is not Limited"
                errors.append(fielderrors.forbidden("spec.limited", why))
        elif kind != "Limited":
            errors.append(fielderrors.not_supported("spec.type", kind, ("Exempt", "Limited")))
        else:
            if exempt is not None:
                why = "must be nil if the type is Limited"
                errors.append(fielderrors.forbidden("spec.exempt", why))
            if limited is None:
                why = "must not be empty when type is Limited"
                errors.append(fielderrors.required("spec.limited", why))
            else:
                errors += _limited(limited)
        return errors


def _precedence(value: int, name: str) -> list[FieldError]:
    why = ""
    if value <= 0:
        why = "must be a positive value"
    elif value > _MAX_PRECEDENCE:
        why = f"must not be greater than {_MAX_PRECEDENCE}"
    elif value == 1 and name != "exempt":
        why = "only the schema named 'exempt' may have matchingPrecedence 1"
    return [fielderrors.invalid("spec.matchingPrecedence", value, why)] if why else []


def _rule(rule: Object, path: str) -> list[FieldError]:
    errors = []
    subjects = rule.get("subjects") or []
    if not subjects:
        why = "subjects must contain at least one value"
        errors.append(fielderrors.required(f"{path}.subjects", why))
    for index, subject in enumerate(subjects):
        errors += _subject(subject, f"{path}.subjects[{index}]")
    resources, others = rule.get("resourceRules") or [], rule.get("nonResourceRules") or []
    if not resources and not others:
        why = "at least one of resourceRules and nonResourceRules has to be non-empty"
        errors.append(fielderrors.required(path, why))
    for index, one in enumerate(resources):
        errors += _resource_rule(one, f"{path}.resourceRules[{index}]")
    for index, one in enumerate(others):
        errors += _url_rule(one, f"{path}.nonResourceRules[{index}]")
    return errors


_SUBJECTS = {"Group": "group", "ServiceAccount": "serviceAccount", "User": "user"}


def _subject(subject: Object, path: str) -> list[FieldError]:
    kind = subject.get("kind", "")
    if kind not in _SUBJECTS:
        return [fielderrors.not_supported(f"{path}.kind", kind, tuple(_SUBJECTS))]
    errors = []
    for other, member in _SUBJECTS.items():
        place, value = f"{path}.{member}", subject.get(member)
        if other != kind:
            if value is not None:
                why = f"{member} is forbidden when subject kind is not '{other}'"
                errors.append(fielderrors.forbidden(place, why))
        elif value is None:
            why = f"{member} is required when subject kind is '{other}'"
            errors.append(fielderrors.required(place, why))
        else:
            errors += _named(value, place, is_account=kind == "ServiceAccount")
    return errors


def _named(value: Object, path: str, *, is_account: bool) -> list[FieldError]:
    name, namespace = value.get("name", ""), value.get("namespace", "")
    errors = [] if name else [fielderrors.required(f"{path}.name")]
    if not is_account:
        return errors
    if name and name != "*":
        errors += checks.named(name, f"{path}.name", names.dns1123_subdomain)
    if namespace:
        return errors + checks.named(namespace, f"{path}.namespace", names.dns1123_label)
    why = "must specify namespace for service account"
    return [*errors, fielderrors.required(f"{path}.namespace", why)]


def _verbs(verbs: list[str], path: str) -> list[FieldError]:
    place = f"{path}.verbs"
    errors = _some(verbs, place, "verbs must contain at least one value", "verbs")
    if not errors and "*" not in verbs and any(verb not in _VERBS for verb in verbs):
        return [fielderrors.not_supported(place, verbs, _VERBS)]
    return errors


def _some(values: list[str], path: str, missing: str, what: str) -> list[FieldError]:
    """At least one value, and none beside the one that means all."""
    if not values:
        return [fielderrors.required(path, missing)]
    if "*" in values and len(values) > 1:
        why = f"if '*' is present, must not specify other {what}"
        return [fielderrors.invalid(path, values, why)]
    return []


def _resource_rule(rule: Object, path: str) -> list[FieldError]:
    errors = _verbs(rule.get("verbs") or [], path)
    why = "resource rules must supply at least one api group"
    errors += _some(rule.get("apiGroups") or [], f"{path}.apiGroups", why, "api groups")
    why = "resource rules must supply at least one resource"
    errors += _some(rule.get("resources") or [], f"{path}.resources", why, "resources")
    namespaces, place = rule.get("namespaces") or [], f"{path}.namespaces"
    if not namespaces and rule.get("clusterScope"):
        return errors
    why = "resource rules that are not cluster scoped must supply at least one namespace"
    errors += _some(namespaces, place, why, "namespaces")
    for index, namespace in enumerate(namespaces):
        if namespace != "*":
            errors += checks.named(namespace, f"{place}[{index}]", names.dns1123_label)
    return errors


def _url_rule(rule: Object, path: str) -> list[FieldError]:
    errors = _verbs(rule.get("verbs") or [], path)
    urls, place = rule.get("nonResourceURLs") or [], f"{path}.nonResourceURLs"
    why = "nonResourceURLs must contain at least one value"
    found = _some(urls, place, why, "non-resource URLs")
    if found or "*" in urls:
        return errors + found
    for index, url in enumerate(urls):
        why = _path_problem(url)
        if why:
            errors.append(fielderrors.invalid(f"{place}[{index}]", url, why))
    return errors


def _path_problem(url: str) -> str:
    tests: Sequence[tuple[Callable[[str], bool], str]] = (
        (lambda url: not url, "must not be empty"),
        (lambda url: not url.startswith("/"), "must start with slash"),
        (lambda url: " " in url, "must not contain white-space"),
        (lambda url: "//" in url, "must not contain double slash"),
        (
            lambda url: "*" in url and (url.count("*") > 1 or not url.endswith("/*")),
            "wildcard can only do suffix matching",
        ),
    )
    return next((why for is_wrong, why in tests if is_wrong(url)), "")


def _shares(level: Object, path: str) -> list[FieldError]:
    errors = []
    shares, lendable = level.get("nominalConcurrencyShares", 0), level.get("lendablePercent", 0)
    if shares < 0:
        why = "must be a non-negative integer"
        errors.append(fielderrors.invalid(f"{path}.nominalConcurrencyShares", shares, why))
    if not 0 <= lendable <= 100:
        why = "must be between 0 and 100, inclusive"
        errors.append(fielderrors.invalid(f"{path}.lendablePercent", lendable, why))
    return errors


def _limited(limited: Object) -> list[FieldError]:
    path = "spec.limited"
    errors = _shares(limited, path)
    borrowed = limited.get("borrowingLimitPercent")
    if borrowed is not None and borrowed < 0:
        why = "if specified, must be a non-negative integer"
        errors.append(fielderrors.invalid(f"{path}.borrowingLimitPercent", borrowed, why))
    response = limited.get("limitResponse") or {}
    kind, queuing = response.get("type", ""), response.get("queuing")
    path += ".limitResponse"
    if kind not in ("Queue", "Reject"):
        choices = ("Queue", "Reject")
        errors.append(fielderrors.not_supported(f"{path}.type", kind, choices))
    elif kind == "Reject" and queuing is not None:
        why = "must be nil if limited.limitResponse.type is not Limited"
        errors.append(fielderrors.forbidden(f"{path}.queuing", why))
    elif kind == "Queue" and queuing is None:
        why = "must not be empty if limited.limitResponse.type is Limited"
        errors.append(fielderrors.required(f"{path}.queuing", why))
    elif queuing is not None:
        errors += _queuing(queuing, f"{path}.queuing")
    return errors


def _queuing(queuing: Object, path: str) -> list[FieldError]:
    errors = [
        fielderrors.invalid(f"{path}.{member}", queuing.get(member, 0), "must be positive")
        for member in ("queueLengthLimit", "queues", "handSize")
        if queuing.get(member, 0) <= 0
    ]
    queues, hand = queuing.get("queues", 0), queuing.get("handSize", 0)
    if queues > _MAX_QUEUES:
        why = f"must not be greater than {_MAX_QUEUES}"
        errors.append(fielderrors.invalid(f"{path}.queues", queues, why))
    if hand > max(queues, 0):
        why = f"should not be greater than queues ({queues})"
        errors.append(fielderrors.invalid(f"{path}.handSize", hand, why))
    elif hand > 0 and math.ceil(math.log2(queues) * hand) > _MAX_BITS:
        why = f"required entropy bits of deckSize {queues} and handSize {hand} should not be "
        why += f"greater than {_MAX_BITS}"
        errors.append(fielderrors.invalid(f"{path}.handSize", hand, why))
    return errors
