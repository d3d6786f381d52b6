from inkube.schemas.builtin.behaviours import allocators as allocators
from inkube.schemas.builtin.behaviours import devices as devices
from inkube.schemas.builtin.behaviours import pods as pods
from inkube.schemas.builtin.behaviours import services as services
from inkube.schemas.builtin.behaviours.base import BuiltinStrategy as BuiltinStrategy

def of(group: str, plural: str, minor: int = ...) -> BuiltinStrategy: ...
