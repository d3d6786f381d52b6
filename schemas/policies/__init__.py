"""Admission policies: their expressions, what they match, and what they decide. No I/O.

In come a policy, its binding, parameters and a request; out come verdicts, warnings or a changed
object. `apiserver.policies` fetches what is needed and calls; `rules` serves webhooks, too.

Follows apiserver/pkg/admission/plugin/policy and pkg/apis/admissionregistration/validation.
"""

from inkube.schemas import lazy

__getattr__ = lazy.exports(__name__)
