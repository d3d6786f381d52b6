"""Compilation of a checked tree to a Python function, and the functions that it calls.

Callers use `program.Program`. Inputs: a text and an environment. Output: a value or an error,
within a cost limit. `rules` and `schemas.policies` call this room.
"""
