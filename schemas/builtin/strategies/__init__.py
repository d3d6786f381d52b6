"""The behavior of built-in kinds that data cannot express.

A file has the name of its kinds. `builtin.lookup` loads it with the first object of one of them.
Other rooms make the strategies that need parts of a server (`services`, `devices`, `allocators`).
"""

from inkube.schemas import lazy

__getattr__ = lazy.exports(__name__)
