"""Matches the requirements of a pod with a node: selectors, node affinity, taints.

The scheduler, DaemonSets, volumes and the eviction by taints use it. Follows
component-helpers/scheduling/corev1.
"""

from collections.abc import Iterable

from inkube.client import Object

Labels = dict[str, str]


def tolerates(tolerations: Iterable[Object], taint: Object) -> bool:
    """Return whether a toleration tolerates the taint."""
    return any(is_tolerated(each, taint) for each in tolerations)


def is_tolerated(toleration: Object, taint: Object) -> bool:
    """Return whether one toleration tolerates the taint (ToleratesTaint)."""
    effect, key = toleration.get("effect"), toleration.get("key")
    if effect and effect != taint.get("effect"):
        return False
    if key and key != taint.get("key"):
        return False
    operator = toleration.get("operator") or "Equal"
    if operator == "Exists":
        return True
    own, other = toleration.get("value") or "", taint.get("value") or ""
    if operator in ("Lt", "Gt"):
        try:
            wanted, found = int(own), int(other)
        except ValueError:
            return False
        return found < wanted if operator == "Lt" else found > wanted
    return own == other


def untolerated_taint(
    tolerations: list[Object], taints: Iterable[Object], effects: tuple[str, ...]
) -> Object | None:
    """Return the first taint with one of the effects that is not tolerated, or None without one."""
    for taint in taints:
        if taint.get("effect") in effects and not tolerates(tolerations, taint):
            return taint
    return None


def fits_node(spec: Object, node: Object) -> bool:
    """Return whether nodeSelector and required node affinity of a pod accept the node."""
    labels: Labels = node["metadata"].get("labels") or {}
    selector = spec.get("nodeSelector") or {}
    if any(labels.get(key) != value for key, value in selector.items()):
        return False
    affinity = (spec.get("affinity") or {}).get("nodeAffinity") or {}
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution")
    return required is None or fits_terms(required.get("nodeSelectorTerms") or (), node)


def fits_terms(terms: Iterable[Object], node: Object) -> bool:
    """Return whether a term of a NodeSelector accepts the node."""
    return any(fits_term(term, node) for term in terms)


def fits_term(term: Object, node: Object) -> bool:
    """Return whether a NodeSelectorTerm accepts the node. An empty term accepts no node."""
    labels: Labels = node["metadata"].get("labels") or {}
    expressions = term.get("matchExpressions") or ()
    fields = term.get("matchFields") or ()
    if not expressions and not fields:
        return False
    own = {"metadata.name": node["metadata"]["name"]}
    return all(_matches(each, labels) for each in expressions) and all(
        _matches(each, own) for each in fields
    )


def _matches(expression: Object, labels: Labels) -> bool:
    value = labels.get(expression["key"])
    values: list[str] = expression.get("values") or []
    match expression["operator"]:
        case "In":
            return value in values
        case "NotIn":
            return value is None or value not in values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
    try:
        number, bound = int(value or ""), int(values[0])
    except (ValueError, IndexError):
        return False
    return number > bound if expression["operator"] == "Gt" else number < bound
