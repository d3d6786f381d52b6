"""What keeps a Repository's git from being read, and how conditions and refusals say it. Pure."""

from inkube.controllers.checks import OutsideError
from inkube.controllers.porch.git.depots import SecretMissing, SecretUnfit
from inkube.controllers.porch.sync import BranchNotFound
from inkube.controllers.provisioning import NotAuthorized, RepositoryNotFound, TooMuch

ASKING = (NotAuthorized, RepositoryNotFound, OutsideError)
"""What any question to a git repository may raise."""
OPENING = (*ASKING, SecretMissing, SecretUnfit)
"""What opening one by its Secret may raise."""
READING = (*OPENING, BranchNotFound, TooMuch)
"""What a sync may raise."""


def cause(error: Exception) -> str:
    """What went wrong, in the words of conditions."""
    if isinstance(error, NotAuthorized):
        return "not authorized"
    if isinstance(error, RepositoryNotFound):
        return "repository not found"
    if isinstance(error, SecretMissing):
        return f"secret {error} not found"
    if isinstance(error, OutsideError):
        return f"unreachable: {error.reason}"
    return str(error)
