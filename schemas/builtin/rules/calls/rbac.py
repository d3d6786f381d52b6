"""Irregular rules of rbac.authorization.k8s.io."""

from inkube.schemas import fielderrors
from inkube.schemas.builtin.rules import compiler
from inkube.schemas.builtin.rules.frames import Frame
from inkube.schemas.fielderrors import FieldError
from inkube.schemas.objects import Object


def selector(value: Object, path: str, _frame: Frame) -> list[FieldError]:
    """Check a selector. An invalid one is reported twice: by its parts and as a whole."""
    errors = compiler.errors("meta.v1.LabelSelector", value, path)
    if errors:
        errors.append(fielderrors.invalid(path, None, "invalid label selector."))
    return errors


def names_resources(frame: Frame) -> bool:
    """Return whether a rule with URLs also names resources."""
    return any(frame.obj.get(member) for member in ("apiGroups", "resources", "resourceNames"))
