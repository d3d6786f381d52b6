from inkube.controllers.kinds import KindModule as KindModule
from inkube.controllers.secure import SecretStore as SecretStore
