"""Events of both groups: one object in two forms. The newer API has stricter rules.

Follows pkg/apis/core/validation/events.go.
"""

from typing import Any

from inkube.schemas import fielderrors
from inkube.schemas.builtin.strategies import checks, metadata, naming
from inkube.schemas.builtin.strategies.base import BuiltinStrategy
from inkube.schemas.fielderrors import FieldError
from inkube.schemas.gotypes import internal
from inkube.schemas.metadata import names
from inkube.schemas.objects import Object
from inkube.schemas.strategy import Context

_LIMIT = 128
_NOTE_LIMIT = 1024
_MISMATCH = "does not match event.namespace"
_UNSET = "needs to be unset"


class _Shape:
    """The names of the members in one of the forms."""

    def __init__(self, *, core: bool) -> None:
        self.about = "involvedObject" if core else "regarding"
        self.controller = "reportingComponent" if core else "reportingController"
        self.message = "message" if core else "note"


def _basic(obj: Object, shape: _Shape) -> list[FieldError]:
    """legacyValidateEvent: the errors of the namespace and the reporter."""
    namespace = obj["metadata"].get("namespace", "")
    about = (obj.get(shape.about) or {}).get("namespace", "")
    errors = []
    if not obj.get("eventTime"):
        if about != namespace and (about or namespace != "default"):
            errors.append(fielderrors.invalid("involvedObject.namespace", about, _MISMATCH))
    else:
        if not about and namespace not in ("default", "kube-system"):
            errors.append(fielderrors.invalid("involvedObject.namespace", about, _MISMATCH))
        errors += _reporter(obj, shape)
    return errors + checks.named(namespace, "namespace", naming.subdomain)


def _reporter(obj: Object, shape: _Shape) -> list[FieldError]:
    controller = obj.get(shape.controller, "")
    errors = [] if controller else [fielderrors.required(shape.controller)]
    errors += checks.named(controller, shape.controller, names.label_key)
    for member in ("reportingInstance", "action", "reason"):
        value = obj.get(member, "")
        if not value:
            errors.append(fielderrors.required(member))
        elif len(value) > _LIMIT:
            why = f"can have at most {_LIMIT} characters"
            errors.append(fielderrors.invalid(member, "", why))
    if len(obj.get(shape.message, "")) > _NOTE_LIMIT:
        why = f"can have at most {_NOTE_LIMIT} characters"
        errors.append(fielderrors.invalid("message", "", why))
    return errors


class CoreEvents(BuiltinStrategy):
    """Events of core/v1. All members can change."""

    _shape = _Shape(core=True)

    def check(self, obj: Object) -> list[FieldError]:
        return _basic(obj, self._shape)


class Events(BuiltinStrategy):
    """Events of events.k8s.io. They must be complete, and only the series can change later."""

    _shape = _Shape(core=False)

    def validate(self, context: Context, obj: Object) -> list[FieldError]:
        errors = _basic(obj, self._shape)
        errors += metadata.validate(obj["metadata"], namespaced=True, check="subdomain")
        errors += _series(obj)
        if not obj.get("eventTime"):
            errors.append(fielderrors.required("eventTime"))
        if obj.get("type") not in ("Normal", "Warning"):
            why = f"has invalid value: {obj.get('type', '')}"
            errors.append(fielderrors.invalid("type", "", why))
        for member, name in (
            ("deprecatedFirstTimestamp", "firstTimestamp"),
            ("deprecatedLastTimestamp", "lastTimestamp"),
            ("deprecatedCount", "count"),
            ("deprecatedSource", "source"),
        ):
            if obj.get(member):
                errors.append(fielderrors.invalid(name, "", _UNSET))
        return errors

    def check_update(self, obj: Object, old: Object) -> list[FieldError]:
        errors = _basic(obj, self._shape)
        if obj.get("series") != old.get("series"):
            errors += _series(obj)
        for member, name in _FIXED:
            if (obj.get(member) or None) != (old.get(member) or None):
                shown = _shown(member, obj.get(member))
                errors.append(fielderrors.invalid(name, shown, checks.IMMUTABLE))
        return errors


def _shown(member: str, value: Any) -> Any:
    struct = _STRUCTS.get(member)
    return value if struct is None or value is None else internal.value(struct, value)


_STRUCTS = {
    "regarding": "core.ObjectReference", "related": "core.ObjectReference",
    "deprecatedSource": "core.EventSource",
}  # fmt: skip
_FIXED = (
    ("regarding", "involvedObject"), ("reason", "reason"), ("note", "message"),
    ("deprecatedSource", "source"), ("deprecatedFirstTimestamp", "firstTimestamp"),
    ("deprecatedLastTimestamp", "lastTimestamp"), ("deprecatedCount", "count"),
    ("reason", "reason"), ("type", "type"), ("eventTime", "eventTime"), ("action", "action"),
    ("related", "related"), ("reportingController", "reportingController"),
    ("reportingInstance", "reportingInstance"),
)  # fmt: skip
"""Members and their names in errors. The reason is checked twice, like upstream."""


def _series(obj: Object) -> list[FieldError]:
    series = obj.get("series")
    if series is None:
        return []
    errors = []
    if series.get("count", 0) < 2:
        errors.append(fielderrors.invalid("series.count", "", "should be at least 2"))
    if not series.get("lastObservedTime"):
        errors.append(fielderrors.required("series.lastObservedTime"))
    return errors
