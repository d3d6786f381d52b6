"""Live checks: written once, run in dry-run admission and by the kind's controller.

In come a typed object and what its checks ask for by name (services, the client); out come field
errors, as causes of a 422 or in `status.fieldErrors`. `declare` has the decorators, `errors` what
checks may find, `run` how a set of them is run over one object, `status` and `controller` how the
result reaches the object. Authors of kinds import the names below; `controllers.kinds` the rest.
"""

from inkube.controllers.checks.controller import Report
from inkube.controllers.checks.declare import NEVER, Check, Retry, Rule, check, mutator, validator
from inkube.controllers.checks.errors import (
    Duplicate,
    Forbidden,
    InternalError,
    Invalid,
    NotFound,
    NotSupported,
    OutsideError,
    Problem,
    Required,
    TooMany,
    Unavailable,
    Unreachable,
    is_vague,
)
from inkube.controllers.checks.run import CheckSet, Run
from inkube.controllers.checks.status import Finding

__all__ = [
    "NEVER",
    "Check",
    "CheckSet",
    "Duplicate",
    "Finding",
    "Forbidden",
    "InternalError",
    "Invalid",
    "NotFound",
    "NotSupported",
    "OutsideError",
    "Problem",
    "Report",
    "Required",
    "Retry",
    "Rule",
    "Run",
    "TooMany",
    "Unavailable",
    "Unreachable",
    "check",
    "is_vague",
    "mutator",
    "validator",
]
