"""Pod Security Standards: what a pod may ask of its node at each level and version.

In come the metadata and spec of a pod and the labels of its namespace; out come violations in the
reference's words. No I/O; `apiserver.admission.podsecurity` asks. Follows
k8s.io/pod-security-admission (api/helpers.go, policy/registry.go and policy/check_*.go).
"""
