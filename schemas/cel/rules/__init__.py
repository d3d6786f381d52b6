"""x-kubernetes-validations: the rules of a schema, compiled, judged, ratcheted.

`validation` says what is wrong with the rules of a definition that is written, `evaluation` what
they find in an object. Called by `schemas.crds` and by the behaviour of custom resources.
"""
