from importlib import metadata as metadata

from inkube.apiserver.discovery.debugging import Debugging as Debugging
from inkube.apiserver.discovery.endpoints import Endpoint as Endpoint
from inkube.apiserver.discovery.groups import Discovery as Discovery
from inkube.apiserver.discovery.openapi import OpenAPI as OpenAPI
from inkube.apiserver.discovery.stages import Stage as Stage
