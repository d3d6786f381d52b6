"""The metadata of a new built-in object.

Follows apimachinery/pkg/api/validation/objectmeta.go ValidateObjectMetaAccessor.
"""

from typing import Any

from inkube.schemas import fielderrors
from inkube.schemas.builtin.behaviours import naming
from inkube.schemas.fielderrors import FieldError

Object = dict[str, Any]
MAX_ANNOTATIONS = 256 * 1024
"""Bytes of all keys and values together."""
_PATH = "metadata"


def validate(meta: Object, *, namespaced: bool, check: str, path: str = _PATH) -> list[FieldError]:
    """Everything wrong with it; `check` is a name of `naming.NAME_CHECKS`."""
    errors = _names(meta, check, path)
    namespace = meta.get("namespace", "")
    if namespaced and not namespace:
        errors.append(fielderrors.required(f"{path}.namespace"))
    elif namespaced:
        problems = naming.label(namespace)
        errors += [fielderrors.invalid(f"{path}.namespace", namespace, why) for why in problems]
    elif namespace:
        errors.append(fielderrors.forbidden(f"{path}.namespace", "not allowed on this type"))
    errors += labels(meta.get("labels") or {}, f"{path}.labels")
    errors += annotations(meta.get("annotations") or {}, f"{path}.annotations")
    errors += _owners(meta.get("ownerReferences") or [], f"{path}.ownerReferences")
    return errors + finalizers(meta.get("finalizers") or [], f"{path}.finalizers")


def _names(meta: Object, check: str, path: str) -> list[FieldError]:
    errors = []
    prefix, name = meta.get("generateName", ""), meta.get("name", "")
    if prefix:
        problems = naming.prefix(check, prefix)
        errors += [fielderrors.invalid(f"{path}.generateName", prefix, why) for why in problems]
    if not name:
        errors.append(fielderrors.required(f"{path}.name", "name or generateName is required"))
    else:
        problems = naming.NAME_CHECKS[check](name)
        errors += [fielderrors.invalid(f"{path}.name", name, why) for why in problems]
    return errors


def labels(given: dict[str, str], path: str) -> list[FieldError]:
    """Keys are qualified names, values short words."""
    errors = []
    for key, value in sorted(given.items()):
        errors += [fielderrors.invalid(path, key, why) for why in naming.qualified(key)]
        errors += [fielderrors.invalid(path, value, why) for why in naming.label_value(value)]
    return errors


def annotations(given: dict[str, str], path: str) -> list[FieldError]:
    """Keys are qualified names in any case; the total size is bounded."""
    errors = []
    for key in sorted(given):
        errors += [fielderrors.invalid(path, key, why) for why in naming.qualified(key.lower())]
    size = sum(len(key.encode()) + len(value.encode()) for key, value in given.items())
    if size > MAX_ANNOTATIONS:
        errors.append(fielderrors.too_long(path, MAX_ANNOTATIONS))
    return errors


def _owners(owners: list[Object], path: str) -> list[FieldError]:
    errors = []
    for index, owner in enumerate(owners):
        place = f"{path}[{index}]"
        for member, why in (
            ("apiVersion", "version must not be empty"),
            ("kind", "must not be empty"),
            ("name", "must not be empty"),
            ("uid", "must not be empty"),
        ):
            if not owner.get(member):
                errors.append(fielderrors.invalid(f"{place}.{member}", "", why))
        if owner.get("apiVersion") == "v1" and owner.get("kind") == "Event":
            why = "/v1, Kind=Event is disallowed from being an owner"
            errors.append(fielderrors.invalid(place, owner, why))
    controllers = [owner for owner in owners if owner.get("controller")]
    if len(controllers) > 1:
        first, second = controllers[0], controllers[1]
        why = (
            'Only one reference can have Controller set to true. Found "true" in references for '
            f"{first.get('kind')}/{first.get('name')} and {second.get('kind')}/{second.get('name')}"
        )
        errors.append(fielderrors.invalid(path, owners, why))
    return errors


def finalizers(given: list[str], path: str) -> list[FieldError]:
    """Qualified names; the two of the garbage collector exclude each other."""
    errors = []
    for index, name in enumerate(given):
        problems = naming.qualified(name)
        errors += [fielderrors.invalid(path, name, why) for why in problems]
        if (
            not problems
            and "/" not in name
            and name not in ("orphan", "foregroundDeletion", "kubernetes")
        ):
            why = "name is neither a standard finalizer name nor is it fully qualified"
            errors.append(fielderrors.invalid(f"{path}[{index}]", name, why))
    if "orphan" in given and "foregroundDeletion" in given:
        why = "finalizer set cannot contain both 'orphan' and 'foregroundDeletion'"
        errors.append(fielderrors.invalid(path, given, why))
    return errors
