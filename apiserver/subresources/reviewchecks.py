"""What an access review must say. Follows pkg/apis/authorization/validation/validation.go."""

from inkube.schemas import fielderrors, status
from inkube.schemas.fielderrors import FieldError
from inkube.schemas.objects import Object

_GROUP = "authorization.k8s.io"
_RESOURCE, _PATH = "spec.resourceAttributes", "spec.nonResourceAttributes"


def check_self(review: Object) -> None:
    """A SelfSubjectAccessReview. Raises StatusError 422."""
    _refuse([*_what(review["spec"]), *_meta(review)])


def check_subject(review: Object) -> None:
    """A SubjectAccessReview. Raises StatusError 422."""
    _refuse([*_what(review["spec"], who=True), *_meta(review)])


def check_local(review: Object) -> None:
    """A LocalSubjectAccessReview: of one namespace, of no path. Raises StatusError 422."""
    spec, namespace = review["spec"], review["metadata"].get("namespace", "")
    errors = [*_what(spec, who=True), *_meta(review, but_namespace=True)]
    resource, path = spec.get("resourceAttributes"), spec.get("nonResourceAttributes")
    if resource is not None and resource.get("namespace", "") != namespace:
        given = resource.get("namespace", "")
        errors.append(
            fielderrors.invalid(f"{_RESOURCE}.namespace", given, "must match metadata.namespace")
        )
    if path is not None:
        why = "disallowed on this kind of request"
        errors.append(fielderrors.invalid(_PATH, _go_path(path), why))
    _refuse(errors)


def _refuse(errors: list[FieldError]) -> None:
    if errors:
        raise status.invalid(_GROUP, "", "", errors)


def _what(spec: Object, *, who: bool = False) -> list[FieldError]:
    """Either a resource or a path, and for others a user or groups."""
    resource, path = spec.get("resourceAttributes"), spec.get("nonResourceAttributes")
    errors = []
    if resource is not None and path is not None:
        why = "cannot be specified in combination with resourceAttributes"
        errors.append(fielderrors.invalid(_PATH, _go_path(path), why))
    if resource is None and path is None:
        why = "exactly one of nonResourceAttributes or resourceAttributes must be specified"
        errors.append(fielderrors.invalid(_RESOURCE, None, why))
    if who and not spec.get("user") and not spec.get("groups"):
        why = "at least one of user or group must be specified"
        errors.append(fielderrors.invalid("spec.user", "", why))
    return errors + _selectors(resource or {})


def _go_path(path: Object) -> Object:
    """The internal type has no JSON names."""
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
    return errors


def _meta(review: Object, *, but_namespace: bool = False) -> list[FieldError]:
    """Reviews have no metadata of their own."""
    meta = {
        key: value
        for key, value in review["metadata"].items()
        if key != "managedFields" and value and not (but_namespace and key == "namespace")
    }
    if not meta:
        return []
    why = "must be empty except for namespace" if but_namespace else "must be empty"
    return [fielderrors.invalid("metadata", review["metadata"], why)]
