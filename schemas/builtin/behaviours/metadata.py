"""The metadata of a new built-in object, and of the templates in it.

`schemas.objectmeta` has the rules; core kinds add one on finalizers. Follows
pkg/apis/core/validation ValidateObjectMeta.
"""

from typing import Any

from inkube.schemas import fielderrors, names, objectmeta
from inkube.schemas.builtin.behaviours import naming
from inkube.schemas.fielderrors import FieldError

Object = dict[str, Any]
_STANDARD = frozenset({"kubernetes", "orphan", "foregroundDeletion"})


def validate(meta: Object, *, namespaced: bool, check: str) -> list[FieldError]:
    """Everything wrong with it; `check` is a key of `naming.NAME_CHECKS`."""
    rule = naming.NAME_CHECKS[check]
    errors = objectmeta.validate(meta, namespaced=namespaced, name_check=rule)
    return errors + _unqualified(meta.get("finalizers") or [], "metadata.finalizers")


def labels(given: dict[str, str], path: str) -> list[FieldError]:
    """Keys are qualified names, values short words."""
    return list(objectmeta.label_errors(given, path))


def template(meta: Object, path: str) -> list[FieldError]:
    """Labels and annotations of a pod template."""
    errors = labels(meta.get("labels") or {}, f"{path}.labels")
    for key in meta.get("annotations") or {}:
        wrong = names.label_key(key.lower())
        errors += [fielderrors.invalid(f"{path}.annotations", key, why) for why in wrong]
    return errors


def finalizers(given: list[str], path: str) -> list[FieldError]:
    """Finalizers outside of metadata: a namespace's own."""
    errors = [
        fielderrors.invalid(path, name, why) for name in given for why in names.label_key(name)
    ]
    return errors + _unqualified(given, path)


def _unqualified(given: list[str], path: str) -> list[FieldError]:
    why = "name is neither a standard finalizer name nor is it fully qualified"
    return [
        fielderrors.invalid(f"{path}[{index}]", name, why)
        for index, name in enumerate(given)
        if "/" not in name and name not in _STANDARD
    ]
