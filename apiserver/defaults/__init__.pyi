from inkube.apiserver.defaults import apiservices as apiservices
from inkube.apiserver.defaults import namespaces as namespaces
from inkube.apiserver.defaults import sets as sets
from inkube.apiserver.defaults.contents import objects as objects
from inkube.apiserver.defaults.contents import roles as roles
from inkube.apiserver.defaults.sets import Defaults as Defaults
