"""The Go types of Kubernetes' API: a table of all built-in ones, and what decodes by it.

In comes a JSON value and the name of a type, out comes the value as Go's encoding/json would write
it back, with the unknown fields named, or a DecodeError in Go's words. ObjectMeta of any object,
CustomResourceDefinitions and built-in kinds are decoded here and nowhere else; OpenAPI is made
from the same table. What a kind does with its objects stands with the kind.
"""

from inkube.schemas import lazy

__getattr__ = lazy.exports(__name__)
