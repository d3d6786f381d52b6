"""Documents about the server: groups and resources, OpenAPI, health, version, metrics, issuer.

Each is an `endpoints.Endpoint`: a request in, a response out, made from the live table. `app` calls
them by path.
"""

from inkube.schemas import lazy

__getattr__ = lazy.exports(__name__)
