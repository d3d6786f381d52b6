"""x-kubernetes-validations: compilation and evaluation of the rules of a schema, with ratcheting.

`validation` finds errors in the rules of a definition, and `evaluation` runs the rules on an
object. Callers are `schemas.crds` and the strategy of custom resources.
"""
