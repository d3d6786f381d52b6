"""The errors of rules. The documentation defines a code for each rule; the real server mostly
returns 500.

Each function creates the StatusError of one rule; `Refusals` selects between the two sets of codes.
"""

from collections.abc import Sequence

from inkube.controllers.porch.types import GROUP, VERSION
from inkube.formats import fielderrors
from inkube.kinds import FieldError, StatusError, status

RESOURCE, KIND = "packagerevisions", "PackageRevision"
RESOURCES, RESOURCES_KIND = "packagerevisionresources", "PackageRevisionResources"
NEW = "(new creation)"


class Refusals:
    """Errors with the documented codes, or with those of upstream's Porch."""

    def __init__(self, *, upstream: bool) -> None:
        self.upstream = upstream

    def bad(self, error: FieldError) -> StatusError:
        """Return a bad request: status 400 with the field, or upstream's 500."""
        return self._internal(error.detail) if self.upstream else bad_request(error)

    def bad_value(self, name: str, field: str, value: object, sentence: str) -> StatusError:
        """Return an invalid value: status 400, or upstream's 422 with the field."""
        error = fielderrors.invalid(field, value, sentence)
        return invalid(name, error) if self.upstream else bad_request(error)

    def conflict(self, name: str, sentence: str, resource: str = RESOURCE) -> StatusError:
        """Return a conflict: status 409, or upstream's 500."""
        if self.upstream:
            return self._internal(sentence)
        return status.conflict(GROUP, resource, name, sentence)

    def invalid(self, name: str, *errors: FieldError, kind: str = KIND) -> StatusError:
        """Return invalid fields: status 422, or upstream's 500 with the first error."""
        if self.upstream:
            return self._internal(errors[0].detail or errors[0].message())
        return invalid(name, *errors, kind=kind)

    @staticmethod
    def _internal(sentence: str) -> StatusError:
        return status.internal(f"Internal error occurred: {sentence}")

    def versionless(self, name: str) -> StatusError:
        """Return the error for a PUT without a resourceVersion."""
        why = "resourceVersion must be specified for an update"
        return self.bad(fielderrors.required("metadata.resourceVersion", why))

    def stale(self, name: str, resource: str = RESOURCE) -> StatusError:
        """Return the error for a write with an outdated resourceVersion."""
        return self.conflict(name, status.STALE, resource)


def bad_request(*errors: FieldError) -> StatusError:
    """Return a bad request: status 400 with the details of the errors as its text, and with
    causes."""
    made = status.bad_request("; ".join(error.detail for error in errors))
    made.details = {"causes": [error.cause() for error in errors]}
    made.field_errors = list(errors)
    return made


def invalid(name: str, *errors: FieldError, kind: str = KIND) -> StatusError:
    """Return invalid fields: status 422 in both sets of codes."""
    return status.invalid(GROUP, kind, name, errors)


def malformed(name: str, errors: Sequence[FieldError], kind: str = KIND) -> StatusError:
    """Return a body that does not match the kind: status 400 in both sets of codes."""
    return status.malformed(GROUP, VERSION, kind, name, errors)


def busy(name: str, operation: str, resource: str = RESOURCE) -> StatusError:
    """Return the refusal during another write of the same object: 409 in both sets of codes."""
    sentence = f"another request is already in progress {operation}"
    return status.conflict(GROUP, resource, name, sentence)


def forbidden(name: str, sentence: str) -> StatusError:
    """Return a forbidden action: status 403 in both sets of codes."""
    return status.forbidden(GROUP, RESOURCE, name, sentence)
