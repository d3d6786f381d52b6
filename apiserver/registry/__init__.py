"""The generic registry: the one pipeline of every write, and reads of one store.

Input is a `calls.Call` with an object, a patch or options. Output is an `Outcome` or a StatusError.
Handlers of HTTP verbs, subresources and the in-process client call it. It does not depend on HTTP,
authorization or particular kinds: strategies prepare and validate objects, wordings contain the
texts of responses, `conversions` fetches objects in other versions, admission plugins change or
reject writes.
"""

from inkube.schemas import lazy

__getattr__ = lazy.exports(__name__)
