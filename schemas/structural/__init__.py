"""Structural schemas (apiextensions v1): what they say of a value, to the exact field path.

In come a schema as plain JSON and values; out come the values pruned and defaulted, and a list of
`fielderrors.FieldError`. `compiled.CompiledSchema` is the way in; kinds' behaviours, `schemas.crds`
and `schemas.offline` call it. Whether a schema itself is well formed is said by `schemas.crds`.
"""

from inkube.schemas import lazy

__getattr__ = lazy.exports(__name__)
