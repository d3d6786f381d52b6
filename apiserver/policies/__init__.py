"""ValidatingAdmissionPolicy and MutatingAdmissionPolicy: bound policies and their decisions.

Input: a write in admission. Output: changes and rejections. `plugin` contains the
admission plugins. All other code is loaded with the first binding. `schemas.policies` evaluates the
expressions.
"""

from inkube.schemas import lazy

__getattr__ = lazy.exports(__name__)
