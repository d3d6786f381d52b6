"""Defaults that kinds with templates of pods fill in themselves."""

from inkube.schemas.builtin import rules
from inkube.schemas.objects import Object


def fill(target: Object, defaults: Object) -> None:
    """Give members that are missing, null or "" their default."""
    for member, value in defaults.items():
        if target.get(member) in (None, ""):
            target[member] = value


def pod_spec(spec: Object) -> None:
    """What the table says of a PodSpec."""
    rules.fill("core.v1.PodSpec", spec)
