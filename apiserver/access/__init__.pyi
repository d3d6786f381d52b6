from inkube.apiserver.access import authenticationconfig as authenticationconfig
from inkube.apiserver.access import configobjects as configobjects
from inkube.apiserver.access import kubeconfig as kubeconfig
from inkube.apiserver.access import security as security
from inkube.apiserver.access.security import Security as Security
