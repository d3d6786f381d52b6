"""The verbs of HTTP on resources: an `Exchange` in, a response out.

`app` comes to `routes`, which finds who answers; `verbs` decodes and calls the registry,
`rendering` gives what comes back the form that was asked for: JSON of `stored` entries, protobuf of
`packed` ones, `tables`, whose `rows` are kept; what is long is `listed` in pieces. Watching and
subresources build on the same exchange.
"""

from inkube.schemas import lazy

__getattr__ = lazy.exports(__name__)
