from inkube.apiserver.root import aggregation as aggregation
from inkube.apiserver.root import declared as declared
from inkube.apiserver.root import lifespan as lifespan
from inkube.apiserver.root import serveraccess as serveraccess
from inkube.apiserver.root import startmodules as startmodules
from inkube.apiserver.root.controlled import ServerActions as ServerActions
from inkube.apiserver.root.parts import Parts as Parts
