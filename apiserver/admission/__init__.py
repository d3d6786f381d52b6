"""Admission plugins that every server has: namespaces' life, limits, quotas, rights, own kinds.

Each is a `registry.admission.Plugin`; the composition root puts them into the chain in their order.
"""

from inkube.schemas import lazy

__getattr__ = lazy.exports(__name__)
