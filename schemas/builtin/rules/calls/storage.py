"""Irregular rules of storage.k8s.io."""

from collections import Counter

from inkube.schemas import fielderrors
from inkube.schemas.builtin.rules.frames import Frame
from inkube.schemas.builtin.rules.words import IMMUTABLE
from inkube.schemas.fielderrors import FieldError
from inkube.schemas.gotypes import internal
from inkube.schemas.metadata import names
from inkube.schemas.objects import Object
from inkube.schemas.objects import semantically_same as same

_MOST_PARAMETERS, _PARAMETERS_SIZE = 512, 256 << 10
_METADATA_SIZE = 256 << 10
_MESSAGE_SIZE = 1024
_MOST_REPEATS = 100
"""Most errors about one term that other terms repeat. Upstream has no limit."""


def parameters(value: dict[str, str], path: str, _frame: Frame) -> list[FieldError]:
    """Check the number of parameters, that names are not empty, and the total size
    (validateParameters)."""
    if len(value) > _MOST_PARAMETERS:
        return [fielderrors.too_long(path, _MOST_PARAMETERS)]
    errors = [fielderrors.invalid(path, "", "field can not be empty.")] if "" in value else []
    if _size(value) > _PARAMETERS_SIZE:
        errors.append(fielderrors.too_long(path, _PARAMETERS_SIZE))
    return errors


def _size(value: dict[str, str]) -> int:
    return sum(len(key.encode()) + len(each.encode()) for key, each in value.items())


def driver_name(value: str, path: str, _frame: Frame) -> list[FieldError]:
    """Check that a driver's name is qualified. Errors show it in lower case."""
    name = value.lower()
    return [fielderrors.invalid(path, name, why) for why in names.label_key(name)]


def topologies(value: list[Object], path: str, _frame: Frame) -> list[FieldError]:
    """Check that no two terms are equal (validateAllowedTopologies). A repeated term is reported
    one time for each earlier equal term. An empty term is reported one time more for each term of
    the list, because upstream begins with that number of empty terms."""
    errors: list[FieldError] = []
    known = Counter({frozenset[tuple[str, frozenset[str]]](): len(value)})
    for index, term in enumerate(value):
        place = f"{path}[{index}].matchLabelExpressions"
        found: dict[str, frozenset[str]] = {}
        for at, one in enumerate(term.get("matchLabelExpressions") or ()):
            key = one.get("key", "")
            errors += _requirement(one, f"{place}[{at}]")
            if key in found:
                errors.append(fielderrors.duplicate(f"{place}[{at}].key", key))
            found[key] = frozenset(one.get("values") or ())
        said = frozenset(found.items())
        errors += [fielderrors.duplicate(place, "")] * min(known[said], _MOST_REPEATS)
        known[said] += 1
    return errors


def _requirement(requirement: Object, path: str) -> list[FieldError]:
    """Check the key and the values of a topology requirement
    (validateTopologySelectorLabelRequirement)."""
    values = requirement.get("values") or []
    errors = [] if values else [fielderrors.required(f"{path}.values")]
    seen: set[str] = set()
    for index, each in enumerate(values):
        if each in seen:
            errors.append(fielderrors.duplicate(f"{path}.values[{index}]", each))
        seen.add(each)
    key = requirement.get("key", "")
    return errors + [fielderrors.invalid(f"{path}.key", key, why) for why in names.label_key(key)]


def attachment_metadata(value: dict[str, str], path: str, _frame: Frame) -> list[FieldError]:
    """Check the size of the metadata of an attachment (validateAttachmentMetadata)."""
    return [fielderrors.too_long(path, _METADATA_SIZE)] if _size(value) > _METADATA_SIZE else []


def volume_error(value: Object, path: str, _frame: Frame) -> list[FieldError]:
    """Check the message and the code of an error (validateVolumeError). As upstream, the error
    about the message names another limit than the one that is checked."""
    errors: list[FieldError] = []
    if len(value.get("message", "").encode()) > _MESSAGE_SIZE:
        errors.append(fielderrors.too_long(f"{path}.message", _METADATA_SIZE))
    code = value.get("errorCode")
    if code is not None and code < 0:
        why = f"must be between 0 and {2**31 - 1}, inclusive"
        errors.append(fielderrors.invalid(f"{path}.errorCode", code, why))
    return errors


def drivers_kept(but: str, value: list[Object], path: str, frame: Frame) -> list[FieldError]:
    """Refuse changes of a driver other than that of one member. Drivers can be added and removed
    (ValidateCSINodeUpdate)."""
    before, new = (
        [{k: v for k, v in driver.items() if k != but} for driver in drivers]
        for drivers in (((frame.old or {}).get("spec") or {}).get("drivers") or [], value)
    )
    after: dict[str, list[Object]] = {}
    for each in new:
        after.setdefault(each["name"], []).append(each)
    return [
        fielderrors.invalid(path, internal.value("storage.CSINodeDriver", driver), IMMUTABLE)
        for old in before
        for driver in after.get(old["name"], ())
        if not same(driver, old)
    ]
