# Clients
from inkube.apiserver.testing import AsyncClient as AsyncClient
from inkube.apiserver.testing import BlockingClient as BlockingClient
from inkube.controllers.client import Client as Client

# What they take and answer
from inkube.controllers.client import Event as Event
from inkube.controllers.client import Object as Object
from inkube.controllers.client import ObjectList as ObjectList
from inkube.controllers.client import PatchType as PatchType
from inkube.controllers.client import Selection as Selection
from inkube.schemas.meta import GVK as GVK
from inkube.schemas.meta import GVR as GVR

# Refusals
from inkube.controllers.client import get_or_none as get_or_none
from inkube.controllers.client import ignoring as ignoring
from inkube.schemas.status import Reason as Reason
from inkube.schemas.status import StatusError as StatusError
