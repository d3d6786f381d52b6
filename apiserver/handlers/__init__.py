"""The verbs of HTTP on resources: an `Exchange` in, a response out.

`routes` finds who answers; `verbs` decodes and calls the registry, `rendering` gives what comes back
the form that was asked for: JSON of `stored` entries, protobuf of `packed` ones, `tables`, whose
`rows` are kept; what is long is `listed` in pieces. `app` comes to `routes`; watching and
subresources build on the same exchange.
"""

from inkube.schemas import lazy

__getattr__ = lazy.exports(__name__)
