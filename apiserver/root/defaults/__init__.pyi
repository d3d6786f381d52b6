from inkube.apiserver.root.defaults import objects as objects
from inkube.apiserver.root.defaults import roles as roles
