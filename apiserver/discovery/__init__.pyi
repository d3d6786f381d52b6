from importlib import metadata as metadata

from inkube.apiserver.discovery.debugging import Debugging as Debugging
from inkube.apiserver.discovery.groups import Discovery as Discovery
from inkube.apiserver.discovery.openapi import OpenAPI as OpenAPI
