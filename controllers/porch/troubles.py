"""Errors of the git repository of a Repository, and their texts in conditions and errors. Pure."""

from inkube.controllers.porch.git.depots import SecretMissing, SecretUnfit
from inkube.controllers.porch.sync import BranchNotFound
from inkube.controllers.provisioning import NotAuthorized, RepositoryNotFound, TooMuch
from inkube.kinds import OutsideError

REQUEST_ERRORS = (NotAuthorized, RepositoryNotFound, OutsideError)
"""The errors of any operation on a git repository."""
OPEN_ERRORS = (*REQUEST_ERRORS, SecretMissing, SecretUnfit)
"""The errors of opening a repository with its Secret."""
READ_ERRORS = (*OPEN_ERRORS, BranchNotFound, TooMuch)
"""The errors of a sync."""


def cause(error: Exception) -> str:
    """Return the text of an error in conditions."""
    if isinstance(error, NotAuthorized):
        return "not authorized"
    if isinstance(error, RepositoryNotFound):
        return "repository not found"
    if isinstance(error, SecretMissing):
        return f"secret {error} not found"
    if isinstance(error, OutsideError):
        return f"unreachable: {error.reason}"
    return str(error)
