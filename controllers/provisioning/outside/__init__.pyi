from inkube.controllers.provisioning.outside import appkeys as appkeys
from inkube.controllers.provisioning.outside.git import Git as Git
from inkube.controllers.provisioning.outside.git import GitSession as GitSession
from inkube.controllers.provisioning.outside.github import GitHub as GitHub
from inkube.controllers.provisioning.outside.providers import Providers as Providers
from inkube.controllers.provisioning.outside.rest import RestClient as RestClient
