"""ValidatingAdmissionPolicy and MutatingAdmissionPolicy: which are bound, and what they say.

In come writes as admission sees them, out come changes and refusals. `plugin` has the ways in;
until the first binding is made the rest is not loaded. Expressions themselves are
`schemas.policies`.
"""

from inkube.schemas import lazy

__getattr__ = lazy.exports(__name__)
