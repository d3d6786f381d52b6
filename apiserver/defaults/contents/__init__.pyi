from inkube.apiserver.defaults.contents import objects as objects
from inkube.apiserver.defaults.contents import reconciling as reconciling
from inkube.apiserver.defaults.contents import roles as roles
