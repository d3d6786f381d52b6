"""The kind CustomResourceDefinition: defaulting, validation, acceptance, and what it defines.

Input: a body or a stored CRD. Outputs: the decoded CRD, field errors, a status, and the
`definitions.Definition` with which the registry serves the new kind. The strategy of the kind and
`schemas.offline` call the names listed here.
"""

from inkube.schemas import lazy

__getattr__ = lazy.exports(__name__)
