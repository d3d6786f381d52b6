from inkube.controllers.environment import Environment as Environment
from inkube.controllers.kinds import KindModule as KindModule
from inkube.controllers.modules import ModuleParts as ModuleParts
from inkube.controllers.modules import PodRunner as PodRunner
from inkube.controllers.secure import Entry as Entry
from inkube.controllers.secure import SecretStore as SecretStore
