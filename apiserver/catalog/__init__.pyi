from inkube.apiserver.catalog.kinds import LiveCatalog as LiveCatalog
from inkube.apiserver.catalog.kinds import serve_stored as serve_stored
from inkube.apiserver.catalog.schemas import LiveSchemas as LiveSchemas
