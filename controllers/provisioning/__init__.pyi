from inkube.controllers.provisioning import appkeys as appkeys
from inkube.controllers.provisioning.git import Git as Git
from inkube.controllers.provisioning.git import GitSession as GitSession
from inkube.controllers.provisioning.github import GitHub as GitHub
from inkube.controllers.provisioning.providers import Providers as Providers
from inkube.controllers.provisioning.rest import Rest as Rest
