from importlib import metadata as metadata

from inkube.apiserver.discovery import issuer as issuer
from inkube.apiserver.discovery.debugging import Debugging as Debugging
from inkube.apiserver.discovery.endpoints import Endpoint as Endpoint
from inkube.apiserver.discovery.endpoints import Endpoints as Endpoints
from inkube.apiserver.discovery.endpoints import made_late as made_late
from inkube.apiserver.discovery.groups import Discovery as Discovery
from inkube.apiserver.discovery.openapi import OpenAPI as OpenAPI
from inkube.apiserver.discovery.stages import IMPORTING as IMPORTING
from inkube.apiserver.discovery.stages import LOADING as LOADING
from inkube.apiserver.discovery.stages import Stage as Stage
from inkube.apiserver.discovery.starting import Starting as Starting
