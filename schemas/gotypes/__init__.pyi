from inkube.schemas.gotypes import decoding as decoding
from inkube.schemas.gotypes import gocmp as gocmp
from inkube.schemas.gotypes import gosource as gosource
from inkube.schemas.gotypes import internal as internal
from inkube.schemas.gotypes import table as table
from inkube.schemas.gotypes import types as types
from inkube.schemas.gotypes.decoding import Decoded as Decoded
from inkube.schemas.gotypes.types import GoType as GoType
