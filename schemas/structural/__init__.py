"""Structural schemas (apiextensions v1): pruning, defaults and validation of values.

Inputs: a schema as plain JSON, and values. Outputs: the pruned and defaulted values, and a list of
`fielderrors.FieldError` with exact field paths. Callers use `compiled.CompiledSchema`: the
strategies of kinds, `schemas.crds` and `schemas.offline`. `schemas.crds` validates schemas.
"""

from inkube.schemas import lazy

__getattr__ = lazy.exports(__name__)
