"""What `kubectl get` shows of built-in kinds."""

from datetime import datetime
from typing import Any

from inkube.schemas.definitions import Column


def of(group: str, plural: str) -> tuple[Column, ...]:
    """The kind's printer columns."""
    return ()


def cells(group: str, plural: str, obj: dict[str, Any], now: datetime) -> list[Any] | None:
    """The object's cells in the columns' order; None for a kind without columns of its own."""
    return None
