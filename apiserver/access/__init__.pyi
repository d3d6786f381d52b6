from inkube.apiserver.access import auditing as auditing
from inkube.apiserver.access import configs as configs
from inkube.apiserver.access import kubeconfig as kubeconfig
from inkube.apiserver.access import security as security
from inkube.apiserver.access.security import Security as Security
