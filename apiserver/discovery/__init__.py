"""Documents about the server: groups and resources, OpenAPI, health, version, metrics, issuer.

Each is an `endpoints.Endpoint`, which responds to a request with data from the table of served
kinds. `app` calls them by path.
"""

from inkube.schemas import lazy

__getattr__ = lazy.exports(__name__)
