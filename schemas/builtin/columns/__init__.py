"""What `kubectl get` shows of built-in kinds: `of` the columns, `cells` an object's row."""

from typing import TYPE_CHECKING

from inkube.schemas import lazy
from inkube.schemas.builtin.columns.tables import of

if TYPE_CHECKING:
    from inkube.schemas.builtin.columns.rows import cells as cells

__all__ = ["cells", "of"]

__getattr__ = lazy.exports(__name__, {"cells": "rows"})
