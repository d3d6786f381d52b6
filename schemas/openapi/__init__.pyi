from inkube.schemas.openapi import aggregated as aggregated
from inkube.schemas.openapi import proto as proto
from inkube.schemas.openapi import v3 as v3
