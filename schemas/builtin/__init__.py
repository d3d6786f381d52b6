"""Built-in kinds: their definitions as data, their strategies, columns and typed decoding.

In come objects of a kind, typed by `decoding`; out come defaulted ones, errors, warnings and cells
of tables. The registry asks `strategies`, discovery `definitions`, tables `columns`.
"""

from inkube.schemas import lazy
from inkube.schemas.builtin.definitions import by_name, definitions
from inkube.schemas.builtin.resources import Resource

__all__ = ["Resource", "by_name", "definitions"]
__getattr__ = lazy.exports(__name__)
