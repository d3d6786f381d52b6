"""Irregular rules of node.k8s.io."""

from inkube.schemas import fielderrors
from inkube.schemas.builtin.rules import compiler
from inkube.schemas.builtin.rules.frames import Frame, child
from inkube.schemas.fielderrors import FieldError
from inkube.schemas.gotypes import internal
from inkube.schemas.objects import Object

_KEYS = ("key", "operator", "value", "effect")


def tolerations(value: list[Object], path: str, frame: Frame) -> list[FieldError]:
    """Check that each toleration is unique, apart from its tolerationSeconds
    (validateTolerations)."""
    rules = compiler.rules("core.v1.Toleration", "", frame.minor)
    errors = [
        error
        for index, each in enumerate(value)
        for error in rules.run(child(each, f"{path}[{index}].", None, frame))
    ]
    seen = set()
    for index, each in enumerate(value):
        key = tuple(each.get(member, "") for member in _KEYS)
        if key in seen:
            shown = internal.value("core.Toleration", each)
            errors.append(fielderrors.duplicate(f"{path}[{index}]", shown))
        seen.add(key)
    return errors
