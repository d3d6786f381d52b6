from inkube.schemas.builtin.behaviours import addresses as addresses
from inkube.schemas.builtin.behaviours import pods as pods
from inkube.schemas.builtin.behaviours import requirements as requirements
from inkube.schemas.builtin.behaviours import services as services
from inkube.schemas.builtin.behaviours.base import Behaviour as Behaviour
from inkube.schemas.builtin.behaviours.base import Stamp as Stamp

def of(group: str, plural: str) -> Behaviour: ...
