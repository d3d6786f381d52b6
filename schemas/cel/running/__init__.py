"""From a checked tree to a Python function, and what that function calls.

`program.Program` is the way in: text and environment in, a value or an error out, within a budget
of costs. `rules` and `schemas.policies` use it.
"""
