from inkube.controllers.provisioning import appkeys as appkeys
from inkube.controllers.provisioning.git import Git as Git
from inkube.controllers.provisioning.git import GitSession as GitSession
from inkube.controllers.provisioning.github import GitHub as GitHub
