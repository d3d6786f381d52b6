"""How rules refuse: the documents name a code per rule, the real server mostly answers 500.

Each function makes the StatusError of one rule; `Refusals` knows which of the two is wanted.
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
    """The words and codes of one server."""

    def __init__(self, *, upstream: bool) -> None:
        self.upstream = upstream

    def bad(self, sentence: str) -> StatusError:
        """400; upstream 500."""
        return self._internal(sentence) if self.upstream else status.bad_request(sentence)

    def bad_value(self, name: str, field: str, value: object, sentence: str) -> StatusError:
        """400; upstream 422 of a field."""
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
        """A PUT without a version."""
        return self.bad("resourceVersion must be specified for an update")

    def stale(self, name: str, resource: str = RESOURCE) -> StatusError:
        """A write of an older version."""
        return self.conflict(name, status.STALE, resource)


def invalid(name: str, *errors: FieldError, kind: str = KIND) -> StatusError:
    """422 in both."""
    return status.invalid(GROUP, kind, name, errors)


def malformed(name: str, errors: Sequence[FieldError], kind: str = KIND) -> StatusError:
    """400 in both: a body that is not of this kind."""
    return status.malformed(GROUP, VERSION, kind, name, errors)


def busy(name: str, what: str, resource: str = RESOURCE) -> StatusError:
    """409 in both: another write of the same thing runs."""
    sentence = f"another request is already in progress {what}"
    return status.conflict(GROUP, resource, name, sentence)


def forbidden(name: str, sentence: str) -> StatusError:
    """403 in both."""
    return status.forbidden(GROUP, RESOURCE, name, sentence)
