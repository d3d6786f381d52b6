"""APIServices as values: who answers for a group's version, in which order, and whether they can.

An APIService or a document of an aggregated API server comes in; a `Registration`, a condition or
a discovery document leaves. Called by the built-in kind's rules, the controller of availability and
the room of apiserver that passes requests on. Follows kube-aggregator/pkg/apis/apiregistration.
"""

from inkube.schemas import lazy

__getattr__ = lazy.exports(__name__)
