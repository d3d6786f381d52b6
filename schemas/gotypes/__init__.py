"""The Go types of Kubernetes' API: a table of all built-in types, and a decoder that uses it.

Input is a JSON value and the name of a type. Output is the value as Go's encoding/json would encode
it again, with the unknown fields, or a DecodeError with Go's text. ObjectMeta of any object,
CustomResourceDefinitions and built-in kinds are decoded only here. OpenAPI documents use the same
table. The code of each kind is elsewhere (`schemas.builtin`).
"""

from inkube.schemas.gotypes import decoding as decoding
from inkube.schemas.gotypes import gocmp as gocmp
from inkube.schemas.gotypes import gosource as gosource
from inkube.schemas.gotypes import internal as internal
from inkube.schemas.gotypes import table as table
from inkube.schemas.gotypes import types as types
from inkube.schemas.gotypes.decoding import Decoded as Decoded
from inkube.schemas.gotypes.types import GoType as GoType
