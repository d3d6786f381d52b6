"""The Go types of Kubernetes' API: a table of all built-in types, and a decoder that uses it.

Input is a JSON value and the name of a type. Output is the value as Go's encoding/json would encode
it again, with the unknown fields, or a DecodeError with Go's text. ObjectMeta of any object,
CustomResourceDefinitions and built-in kinds are decoded only here. OpenAPI documents use the same
table. The code of each kind is elsewhere (`schemas.builtin`). Only minors before 1.34 need `gocmp`
and `gosource`, which are loaded with their first error.
"""

from inkube.schemas import lazy

__getattr__ = lazy.exports(__name__)
