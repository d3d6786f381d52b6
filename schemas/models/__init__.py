"""Kinds declared in Python: pydantic models with a group, a version and a kind.

Input: a class derived from `Resource`. Output: a `Definition` with its schema, and typed objects
from `parse`. pydantic is loaded at the first use of a name of this room.
"""

from inkube.schemas import lazy

__getattr__ = lazy.exports(__name__)
