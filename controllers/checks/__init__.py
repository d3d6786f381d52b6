"""Live checks: written once, run in dry-run admission and by the kind's controller.

Input: a typed object, and the parameters that its checks name (services, the client). Output: field
errors, as causes of a 422 or in `status.fieldErrors`. `declare` contains the decorators, `errors`
the findings, `run` the execution of checks for one object; `status` and `controller` write the
results to the object. `inkube.kinds` offers the names for authors of kinds.
"""

from inkube.schemas import lazy

__getattr__ = lazy.exports(__name__)
