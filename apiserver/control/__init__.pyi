from inkube.apiserver.control.document import PATH as PATH
from inkube.apiserver.control.document import openapi as openapi
from inkube.apiserver.control.endpoints import DEFAULT_SECONDS as DEFAULT_SECONDS
from inkube.apiserver.control.endpoints import Actions as Actions
from inkube.apiserver.control.endpoints import Control as Control
from inkube.apiserver.control.endpoints import Fork as Fork
