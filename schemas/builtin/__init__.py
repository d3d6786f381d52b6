"""Built-in kinds: their definitions as data, their strategies, columns and typed decoding.

`decoding` types the objects of a kind. The other modules return defaulted objects, errors, warnings
and cells of tables. The registry uses `strategies`, discovery uses `definitions`, tables use
`columns`.
"""

from inkube.schemas import lazy
from inkube.schemas.builtin.kinddefinitions import by_name, definitions
from inkube.schemas.builtin.resources import Resource

__all__ = ["Resource", "by_name", "definitions"]
__getattr__ = lazy.exports(__name__)
