"""Aggregated API servers: APIServices of other servers, and the requests that are forwarded to
them.

Input: a request and its user. Output: the response of the other server; `discovery` receives its
discovery and OpenAPI documents. `app` finds the `registry.delegates.Delegate` in the table of
served kinds. It is loaded with the first APIService of another server.

    aggregator  APIServices → delegates
    delegates   one version of a group
    proxy       a request → the other server → its response
    upstreams   the address of the other server, and its certificates
"""

from inkube.schemas import lazy

__getattr__ = lazy.exports(__name__)
