from inkube.apiserver.access.configs import authentication as authentication
from inkube.apiserver.access.configs import authorization as authorization
from inkube.apiserver.access.configs import reloading as reloading
