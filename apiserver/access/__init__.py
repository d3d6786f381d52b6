"""Access to a server: authentication, authorization, TLS and audit from its options; kubeconfigs.

Input: options, keys and the store. Output: a `Security` for the composition root (`security`), and
the text of a kubeconfig for a running server (`kubeconfig`).
"""

from inkube.schemas import lazy

__getattr__ = lazy.exports(__name__)
