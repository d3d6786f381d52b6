"""What `kubectl get` shows of built-in kinds: `of` the columns, `cells` an object's row,
`conditions` what the row says of it besides."""

from typing import TYPE_CHECKING

from inkube.schemas import lazy
from inkube.schemas.builtin.columns.tables import of

if TYPE_CHECKING:
    from inkube.schemas.builtin.columns.rows import cells as cells
    from inkube.schemas.builtin.columns.rows import conditions as conditions

__all__ = ["cells", "conditions", "of"]

__getattr__ = lazy.exports(__name__, {"cells": "rows", "conditions": "rows"})
