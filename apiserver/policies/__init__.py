"""ValidatingAdmissionPolicy and MutatingAdmissionPolicy on a server: which are bound, what they say.

`plugin.PolicyAdmission` is the way in, an admission plugin; until the first binding is made the rest
is not loaded. Expressions themselves are `schemas.policies`.
"""
