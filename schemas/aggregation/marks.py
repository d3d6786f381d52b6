"""What stands in the metadata of an APIService, apart from all else: a start needs no more."""

URL = "aggregation.inkube.dev/url"
"""An annotation, `http[s]://HOST[:PORT]`; it goes before the address of a service."""
MANAGED = "kube-aggregator.kubernetes.io/automanaged"
"""A label: whoever serves the group keeps the APIService, `onstart` or `true`."""
