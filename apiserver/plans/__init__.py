"""Plans changes: what would happen to a cluster if a set of objects were applied to it.

Input: the data of a cluster in a file, and manifests. Output: one outcome for each object. A plan
applies the objects to a fork of the data in memory, so every rule of the API server judges them, in
the order in which they would be applied. `commands` calls it.

    planning    the fork, the order, the requests
    outcomes    one outcome from the responses: created, changed, a conflict, a refusal
    clientside  the patches of client-side apply
    fields      the differences between two states of an object, without noise
    readings    what a plan has read besides its objects, with resource versions
    requests    requests over HTTP, to a fork or to a cluster
    webhooks    the webhooks that would be called; a fork does not call them
    texts       a plan as text, as Markdown and as JSON
    forecasts   what the controllers would do afterwards
    failing     conditions and containers that started to fail
    savedplans  a plan as a file
    applying    a saved plan, applied to a cluster
"""

from inkube.schemas import lazy

__getattr__ = lazy.exports(__name__)
