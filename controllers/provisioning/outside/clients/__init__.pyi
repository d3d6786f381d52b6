from inkube.controllers.provisioning.outside.clients import appkeys as appkeys
from inkube.controllers.provisioning.outside.clients.git import Git as Git
from inkube.controllers.provisioning.outside.clients.git import GitSession as GitSession
from inkube.controllers.provisioning.outside.clients.github import GitHub as GitHub
from inkube.controllers.provisioning.outside.clients.providers import Providers as Providers
from inkube.controllers.provisioning.outside.clients.rest import RestClient as RestClient
