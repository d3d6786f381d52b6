from inkube.apiserver.server import APIServer as APIServer
from inkube.apiserver.server import Options as Options

__version__: str
__all__ = ["APIServer", "Options", "__version__"]
