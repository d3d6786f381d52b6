"""Validation of the resource requests, limits and claims of containers.

Follows core validation ValidateContainerResourceRequirements, ValidateResourceQuantityValue and
pkg/apis/core/helper.
"""

from collections.abc import Collection

from inkube.schemas import fielderrors, quantity
from inkube.schemas.builtin import resourcenames
from inkube.schemas.fielderrors import FieldError
from inkube.schemas.objects import Object

_OF_PODS = ("cpu", resourcenames.HUGE, "memory")
"""The resources that a pod as a whole can request, in the order of the error text."""


def of_container(
    requirements: Object, path: str, claims: Collection[str] = (), *, whole_pod: bool = False
) -> list[FieldError]:
    """Return the errors of requests, limits and claims of a container, or of a pod as a whole,
    which supports fewer resources. A request must not exceed its limit. `claims`: the pod's claims.
    """
    bounds, requests = requirements.get("limits") or {}, requirements.get("requests") or {}
    errors: list[FieldError] = []
    for member, amounts in (("limits", bounds), ("requests", requests)):
        for name, amount in sorted(amounts.items()):
            place = f"{path}.{member}[{name}]"
            check = _check_of_pod if whole_pod else resourcenames.check_of_container
            errors += check(name, place)
            errors += resourcenames.check_amount(name, amount, place)
            errors += _pages(name, amount, place)
    errors += _within(requests, bounds, path)
    asked = {*bounds, *requests}
    if any(name.startswith(resourcenames.HUGE) for name in asked) and not asked & {"cpu", "memory"}:
        errors.append(fielderrors.forbidden(path, "HugePages require cpu or memory"))
    return errors + _claims(requirements.get("claims") or [], claims, f"{path}.claims")


def _within(requests: Object, bounds: Object, path: str) -> list[FieldError]:
    errors = []
    for name, amount in sorted(requests.items()):
        bound = bounds.get(name)
        if bound is None:
            if not resourcenames.may_overcommit(name):
                why = "Limit must be set for non overcommitable resources"
                errors.append(fielderrors.required(f"{path}.limits", why))
            continue
        asked, most = quantity.parse(amount), quantity.parse(bound)
        if not resourcenames.may_overcommit(name) and asked != most:
            why = f"must be equal to {name} limit of {bound}"
            errors.append(fielderrors.invalid(f"{path}.requests", amount, why))
        elif asked > most:
            why = f"must be less than or equal to {name} limit of {bound}"
            errors.append(fielderrors.invalid(f"{path}.requests", amount, why))
    return errors


def _check_of_pod(name: str, path: str) -> list[FieldError]:
    """Return the errors of the name of a resource of a whole pod (validatePodResourceName)."""
    errors = resourcenames.check(name, path)
    known = name in _OF_PODS or name.startswith(resourcenames.HUGE)
    return errors if errors or known else [fielderrors.not_supported(path, name, _OF_PODS)]


def _pages(name: str, amount: str, path: str) -> list[FieldError]:
    size = name.removeprefix(resourcenames.HUGE)
    if size == name or not quantity.is_valid(size):
        return []
    page, asked = (quantity.parse(text) for text in (size, amount))
    if page.sign <= 0 or _is_multiple(asked, page):
        return []
    why = f"{amount} is not positive integer multiple of {name}"
    return [fielderrors.invalid(path, amount, why)]


def _is_multiple(requested: quantity.Quantity, page: quantity.Quantity) -> bool:
    scale = min(requested.scale, page.scale)
    whole, part = (one.value * 10 ** (one.scale - scale) for one in (requested, page))
    return bool(part > 0 and whole % part == 0)


def _claims(claims: list[Object], known: Collection[str], path: str) -> list[FieldError]:
    errors = []
    seen: set[str] = set()
    for index, claim in enumerate(claims):
        name, place = claim.get("name", ""), f"{path}[{index}]"
        if not name:
            errors.append(fielderrors.required(place))
            continue
        shown = f"{name}/{claim['request']}" if claim.get("request") else name
        if shown in seen:
            errors.append(fielderrors.duplicate(place, name))
        seen.add(shown)
        if name not in known:
            listed = f": {', '.join(sorted(known))}" if known else " which is empty"
            why = f"must be one of the names in pod.spec.resourceClaims{listed}"
            errors.append(fielderrors.not_found(place, name, why))
    return errors
