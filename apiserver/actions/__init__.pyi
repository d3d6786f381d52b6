from inkube.apiserver.actions.server import ControlledServer as ControlledServer
from inkube.apiserver.actions.server import ServerActions as ServerActions
