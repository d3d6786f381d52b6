from inkube.controllers.provisioning.outside.clients import Git as Git
from inkube.controllers.provisioning.outside.clients import GitHub as GitHub
from inkube.controllers.provisioning.outside.clients import GitSession as GitSession
from inkube.controllers.provisioning.outside.clients import Providers as Providers
from inkube.controllers.provisioning.outside.clients import RestClient as RestClient
from inkube.controllers.provisioning.outside.clients import appkeys as appkeys
