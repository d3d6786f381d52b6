"""Aggregated API servers: APIServices that lead elsewhere, and requests passed on to them.

A request and who asks come in, what the other server answered leaves; its discovery and OpenAPI are
handed to `discovery`. `app` finds the `registry.delegates.Delegate` in the table of what is served.
Loaded with the first APIService that is not the server's own.

    aggregator  APIServices → delegates     proxy      a request → the other server → its answer
    delegates   one version of a group      upstreams  where the other server is, whom to trust
"""

from inkube.schemas import lazy

__getattr__ = lazy.exports(__name__)
