"""Irregular rules of events of events.k8s.io."""

from inkube.schemas import fielderrors
from inkube.schemas.builtin import metadata
from inkube.schemas.builtin.rules.frames import Frame
from inkube.schemas.fielderrors import FieldError
from inkube.schemas.objects import Object


def object_metadata(value: Object, _path: str, _frame: Frame) -> list[FieldError]:
    """Return the errors of the metadata, which upstream reports after those of the basic fields."""
    return metadata.validate(value, namespaced=True, check="subdomain")


def no_source(value: Object, path: str, _frame: Frame) -> list[FieldError]:
    """Return an error for a source that is not empty."""
    return [fielderrors.invalid(path, "", "needs to be unset")] if value else []
