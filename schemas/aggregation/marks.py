"""Labels and annotations of APIServices, in their own module because a start loads only this
one."""

URL = "aggregation.inkube.dev/url"
"""An annotation with the URL of a server, `http[s]://HOST[:PORT]`. It precedes the address of a
service."""
MANAGED = "kube-aggregator.kubernetes.io/automanaged"
"""A label of APIServices that the server maintains itself, with the value `onstart` or `true`."""
