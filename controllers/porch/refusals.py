"""The errors of rules. The documentation defines a code for each rule; the real server mostly
returns 500.

Each function creates the StatusError of one rule; `Refusals` selects between the two sets of codes.
"""

from collections.abc import Sequence

from inkube.controllers.porch.types import GROUP, VERSION
from inkube.schemas import fielderrors, status
from inkube.schemas.fielderrors import FieldError
from inkube.schemas.status import StatusError

RESOURCE, KIND = "packagerevisions", "PackageRevision"
RESOURCES, RESOURCES_KIND = "packagerevisionresources", "PackageRevisionResources"
NEW = "(new creation)"


class Refusals:
    """The texts and codes of one server."""

    def __init__(self, *, upstream: bool) -> None:
        self.upstream = upstream

    def bad(self, sentence: str) -> StatusError:
        """400; upstream 500."""
        return self._internal(sentence) if self.upstream else status.bad_request(sentence)

    def bad_value(self, name: str, field: str, value: object, sentence: str) -> StatusError:
        """400; upstream 422 with a field."""
        if self.upstream:
            return invalid(name, fielderrors.invalid(field, value, sentence))
        return status.bad_request(sentence)

    def conflict(self, name: str, sentence: str, resource: str = RESOURCE) -> StatusError:
        """409; upstream 500."""
        if self.upstream:
            return self._internal(sentence)
        return status.conflict(GROUP, resource, name, sentence)

    def invalid(self, name: str, *errors: FieldError, kind: str = KIND) -> StatusError:
        """422; upstream 500 with the first sentence."""
        if self.upstream:
            return self._internal(errors[0].detail or errors[0].message())
        return invalid(name, *errors, kind=kind)

    @staticmethod
    def _internal(sentence: str) -> StatusError:
        return status.internal(f"Internal error occurred: {sentence}")

    def versionless(self, name: str) -> StatusError:
        """A PUT without a resourceVersion."""
        return self.bad("resourceVersion must be specified for an update")

    def stale(self, name: str, resource: str = RESOURCE) -> StatusError:
        """A write with an outdated resourceVersion."""
        return self.conflict(name, status.STALE, resource)


def invalid(name: str, *errors: FieldError, kind: str = KIND) -> StatusError:
    """422 in both sets of codes."""
    return status.invalid(GROUP, kind, name, errors)


def malformed(name: str, errors: Sequence[FieldError], kind: str = KIND) -> StatusError:
    """400 in both sets of codes: a body that does not match the kind."""
    return status.malformed(GROUP, VERSION, kind, name, errors)


def busy(name: str, what: str, resource: str = RESOURCE) -> StatusError:
    """409 in both sets of codes: another write of the same object is in progress."""
    sentence = f"another request is already in progress {what}"
    return status.conflict(GROUP, resource, name, sentence)


def forbidden(name: str, sentence: str) -> StatusError:
    """403 in both sets of codes."""
    return status.forbidden(GROUP, RESOURCE, name, sentence)
