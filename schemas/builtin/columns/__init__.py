"""What `kubectl get` shows of built-in kinds."""

from inkube.schemas.definitions import Column


def of(group: str, plural: str) -> tuple[Column, ...]:
    """The kind's printer columns."""
    return ()
