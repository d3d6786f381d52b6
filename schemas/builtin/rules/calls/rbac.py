"""What is irregular in rbac.authorization.k8s.io."""

from inkube.schemas import fielderrors
from inkube.schemas.builtin import rules
from inkube.schemas.builtin.rules.frames import Frame
from inkube.schemas.fielderrors import FieldError
from inkube.schemas.objects import Object


def selector(value: Object, path: str, _frame: Frame) -> list[FieldError]:
    """A selector that does not hold is told twice: once by its parts, once as a whole."""
    errors = rules.errors("meta.v1.LabelSelector", value, path)
    if errors:
        errors.append(fielderrors.invalid(path, None, "invalid label selector."))
    return errors


def names_resources(frame: Frame) -> bool:
    """Whether a rule with URLs is about resources, too."""
    return any(frame.obj.get(member) for member in ("apiGroups", "resources", "resourceNames"))
