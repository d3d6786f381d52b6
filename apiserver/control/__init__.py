"""Control of a server over HTTP: what tests in other languages do that Python's fixture does.

A request for `/inkube/v1/…` comes in, a JSON object leaves. `app` calls `Control` by path once a
request is authorized like any other path that is no resource; `server` makes it when it is first
asked for, and gives it `Actions`.

    endpoints  method and path → action, its parameters and answer
    document   the same as OpenAPI
"""

from inkube.schemas import lazy

__getattr__ = lazy.exports(__name__)
