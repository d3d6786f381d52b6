"""Control of a server over HTTP, for tests in other languages: the actions of the Python fixture.

A request for `/inkube/v1/…` has a JSON object as its response. `app` calls `Control` by path, after
the request is authorized like other paths outside resources. `server` creates it at the first
request, with the server's `Actions`.

    endpoints  method and path → action, its parameters and its response
    document   the same as OpenAPI
"""

from inkube.schemas import lazy

__getattr__ = lazy.exports(__name__)
