from importlib import metadata as metadata

from inkube.apiserver.discovery import issuer as issuer
from inkube.apiserver.discovery.debugging import Debugging as Debugging
from inkube.apiserver.discovery.endpoints import Endpoint as Endpoint
from inkube.apiserver.discovery.endpoints import Endpoints as Endpoints
from inkube.apiserver.discovery.endpoints import created_on_first_use as created_on_first_use
from inkube.apiserver.discovery.groups import Discovery as Discovery
from inkube.apiserver.discovery.openapi import OpenAPI as OpenAPI
from inkube.apiserver.discovery.stages import DEFINING as DEFINING
from inkube.apiserver.discovery.stages import LOADING as LOADING
from inkube.apiserver.discovery.stages import Stage as Stage
from inkube.apiserver.discovery.starting import StartupHandler as StartupHandler
