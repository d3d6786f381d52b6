"""The kind CustomResourceDefinition: defaulting, validation, acceptance, and what it defines.

In comes a body or a stored definition; out come the decoded one, field errors, a status, and the
`definitions.Definition` by which the registry serves the new kind. Its strategy calls what is
listed here, and so does `schemas.offline`.
"""

from inkube.schemas import lazy

__getattr__ = lazy.exports(__name__)
