"""Live checks: written once, run in dry-run admission and by the kind's controller.

In come a typed object and what its checks ask for by name (services, the client); out come field
errors, as causes of a 422 or in `status.fieldErrors`. `declare` has the decorators, `errors` what
checks may find, `run` how a set of them is run over one object, `status` and `controller` how the
result reaches the object. Authors of kinds find the names in `inkube.kinds`.
"""

from inkube.schemas import lazy

__getattr__ = lazy.exports(__name__)
