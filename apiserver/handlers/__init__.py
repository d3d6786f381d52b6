"""The HTTP verbs on resources: each handler takes an `Exchange` and returns a response.

`app` calls `routes`, which finds the handler. `verbs` decodes the request and calls the registry.
`rendering` encodes the result in the requested media type: JSON of `stored` entries, protobuf of
`packed` ones, or `tables`, whose `rows` are cached. Long lists are sent in pieces (`listed`).
Watching and subresources use the same exchange.
"""

from inkube.schemas import lazy

__getattr__ = lazy.exports(__name__)
