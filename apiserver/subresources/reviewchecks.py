"""Validation of access reviews. Follows pkg/apis/authorization/validation/validation.go."""

from collections.abc import Callable

from inkube.schemas import fielderrors, selectors, status
from inkube.schemas.builtin import rules
from inkube.schemas.fielderrors import FieldError
from inkube.schemas.gotypes import internal
from inkube.schemas.objects import Object

_GROUP = "authorization.k8s.io"
_RESOURCE, _PATH = "spec.resourceAttributes", "spec.nonResourceAttributes"


def check_self(review: Object) -> None:
    """Check a SelfSubjectAccessReview. Raises StatusError 422."""
    _raise_invalid([*_check_attributes(review["spec"]), *_meta(review)])


def check_subject(review: Object) -> None:
    """Check a SubjectAccessReview. Raises StatusError 422."""
    _raise_invalid([*_check_attributes(review["spec"], checks_user=True), *_meta(review)])


def check_local(review: Object) -> None:
    """Check a LocalSubjectAccessReview, which must contain a namespace and no path. Raises
    StatusError 422."""
    spec, namespace = review["spec"], review["metadata"].get("namespace", "")
    errors = [*_check_attributes(spec, checks_user=True), *_meta(review, but_namespace=True)]
    resource, path = spec.get("resourceAttributes"), spec.get("nonResourceAttributes")
    if resource is not None and resource.get("namespace", "") != namespace:
        given = resource.get("namespace", "")
        errors.append(
            fielderrors.invalid(f"{_RESOURCE}.namespace", given, "must match metadata.namespace")
        )
    if path is not None:
        why = "disallowed on this kind of request"
        errors.append(fielderrors.invalid(_PATH, _go_path(path), why))
    _raise_invalid(errors)


def _raise_invalid(errors: list[FieldError]) -> None:
    if errors:
        raise status.invalid(_GROUP, "", "", errors)


def _check_attributes(spec: Object, *, checks_user: bool = False) -> list[FieldError]:
    """Check that a spec has either a resource or a path, and with `checks_user`, a user or
    groups."""
    resource, path = spec.get("resourceAttributes"), spec.get("nonResourceAttributes")
    errors = []
    if resource is not None and path is not None:
        why = "cannot be specified in combination with resourceAttributes"
        errors.append(fielderrors.invalid(_PATH, _go_path(path), why))
    if resource is None and path is None:
        why = "exactly one of nonResourceAttributes or resourceAttributes must be specified"
        errors.append(fielderrors.invalid(_RESOURCE, None, why))
    if checks_user and not spec.get("user") and not spec.get("groups"):
        why = "at least one of user or group must be specified"
        errors.append(fielderrors.invalid("spec.user", "", why))
    return errors + _selectors(resource or {})


def _go_path(path: Object) -> Object:
    """Return a path with Go's names, because the internal type has no JSON names."""
    return {"Path": path.get("path", ""), "Verb": path.get("verb", "")}


def _selectors(resource: Object) -> list[FieldError]:
    errors = []
    for member in ("fieldSelector", "labelSelector"):
        selector = resource.get(member)
        if selector is None:
            continue
        raw, place = selector.get("rawSelector", ""), f"{_RESOURCE}.{member}"
        if raw and selector.get("requirements"):
            why = "may not specified at the same time as requirements"
            errors.append(fielderrors.invalid(f"{place}.rawSelector", raw, why))
        if not raw and not selector.get("requirements"):
            why = f"when {place} is specified, requirements or rawSelector is required"
            errors.append(fielderrors.required(f"{place}.requirements", why))
        for number, requirement in enumerate(selector.get("requirements") or ()):
            errors += _requirement(requirement, f"{place}.requirements[{number}]", member)
    return errors


def _requirement(requirement: Object, path: str, member: str) -> list[FieldError]:
    """Check one requirement of a selector. Operators that are not known are ones of newer clients
    (AllowUnknownOperatorInRequirement)."""
    errors = rules.errors("meta.v1.LabelSelectorRequirement", requirement, path)
    if member == "labelSelector":
        return [each for each in errors if each.field != f"{path}.operator"]
    errors = [each for each in errors if each.field == f"{path}.values"]
    if not requirement.get("key"):
        errors.insert(0, fielderrors.required(f"{path}.key", "must be specified"))
    return errors


def ignored_selectors(resource: Object) -> str:
    """Return the text about selectors that are ignored, completely or in part, because they are
    invalid.

    Follows pkg/registry/authorization/util/helpers.go, BuildEvaluationError.
    """
    told = []
    for member, parse, understands in (
        ("fieldSelector", selectors.parse_fields, _is_field_requirement),
        ("labelSelector", selectors.parse_labels, _is_label_requirement),
    ):
        selector = resource.get(member) or {}
        asked = selector.get("requirements") or []
        understood = [each for each in asked if understands(each)]
        is_sound = len(understood) == len(asked) and _parses(parse, selector.get("rawSelector", ""))
        if not is_sound:
            how = "partially ignored" if understood else "ignored"
            told.append(f"{_RESOURCE}.{member} {how} due to parse error")
    return "; ".join(told)


def field_selector(resource: Object) -> str:
    """Return the field selector of `resourceAttributes` as a text, without requirements that are
    not understood. The terms of a text are sorted, requirements keep their order."""
    selector = resource.get("fieldSelector") or {}
    understood = filter(_is_field_requirement, selector.get("requirements") or ())
    signs = {"In": "=", "NotIn": "!="}
    terms = [
        f"{each['key']}{signs[each['operator']]}{selectors.escaped(each['values'][0])}"
        for each in understood
    ]
    return ",".join(terms) or selectors.sorted_fields(_raw(selectors.parse_fields, selector))


def label_selector(resource: Object) -> "str | tuple[selectors.Requirement, ...]":
    """Return the label selector of `resourceAttributes`: its requirements that are understood, in
    their order, or a text."""
    selector = resource.get("labelSelector") or {}
    understood = list(filter(_is_label_requirement, selector.get("requirements") or ()))
    found = selectors.requirements({"matchExpressions": understood})
    return found or _raw(selectors.parse_labels, selector)


def _raw(parse: Callable[[str], object], selector: Object) -> str:
    text: str = selector.get("rawSelector", "")
    return text if _parses(parse, text) else ""


def _parses(parse: Callable[[str], object], raw: str) -> bool:
    try:
        parse(raw)
    except status.StatusError:
        return False
    return True


def _is_field_requirement(requirement: Object) -> bool:
    return (
        requirement.get("operator") in ("In", "NotIn") and len(requirement.get("values") or ()) == 1
    )


def _is_label_requirement(requirement: Object) -> bool:
    return not rules.errors("meta.v1.LabelSelectorRequirement", requirement)


def _meta(review: Object, *, but_namespace: bool = False) -> list[FieldError]:
    """Refuse metadata in a review, with `but_namespace` except the namespace."""
    meta = {
        key: value
        for key, value in review["metadata"].items()
        if key != "managedFields" and value and not (but_namespace and key == "namespace")
    }
    if not meta:
        return []
    why = "must be empty except for namespace" if but_namespace else "must be empty"
    shown = internal.value("meta.ObjectMeta", review["metadata"])
    return [fielderrors.invalid("metadata", shown, why)]
