"""Admission policies: their expressions, matching and decisions. No I/O.

Inputs: a policy, its binding, parameters and a request. Outputs: verdicts, warnings or a changed
object. `apiserver.policies` fetches the inputs and calls this room. `rules` also serves webhooks.

Follows apiserver/pkg/admission/plugin/policy and pkg/apis/admissionregistration/validation.
"""

from inkube.schemas import lazy

__getattr__ = lazy.exports(__name__)
