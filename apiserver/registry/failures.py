"""Errors of the storage as the Status that clients receive.

`app` answers requests with it, and the in-process client raises it.
"""

from inkube.schemas import status
from inkube.storage import StorageError, errors


def as_status(error: StorageError) -> status.StatusError:
    """Return 405 for a write to the past, 500 for damaged bytes, and 503 for a store that cannot be
    used now."""
    match error:
        case errors.ReadOnly():
            return status.read_only(str(error))
        case errors.Damaged():
            return status.internal(str(error))
        case _:
            return status.storage_failed(str(error))
