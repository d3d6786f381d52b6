"""Pod Security Standards: the permitted fields of a pod at each level and version.

The functions take the metadata and the spec of a pod, and the labels of its namespace. They return
violations with upstream's texts, and do no I/O. `apiserver.admission.podsecurity` calls them.
Follows k8s.io/pod-security-admission (api/helpers.go, policy/registry.go and policy/check_*.go).
"""

from inkube.schemas import lazy

__getattr__ = lazy.exports(__name__)
