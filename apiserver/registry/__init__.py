"""The generic registry: the one pipeline of every write, and reads of one store.

In comes a `calls.Call` with an object, a patch or options; out comes an `Outcome` or a StatusError.
HTTP's verbs, subresources and the in-process client call it. It knows nothing of HTTP, rights or of
particular kinds: strategies say what may be done to objects, wordings how answers are worded,
`conversions` what is awaited for another version, admission plugins what may pass.
"""

from inkube.schemas import lazy

__getattr__ = lazy.exports(__name__)
