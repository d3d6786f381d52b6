from inkube.schemas.structural import embedded as embedded
from inkube.schemas.structural import formats as formats
from inkube.schemas.structural import scale as scale
from inkube.schemas.structural import schemapaths as schemapaths
from inkube.schemas.structural.compiled import CompiledSchema as CompiledSchema
from inkube.schemas.structural.correlation import NEVER_COMPARED as NEVER_COMPARED
from inkube.schemas.structural.correlation import Correlation as Correlation
from inkube.schemas.structural.nodes import Node as Node
