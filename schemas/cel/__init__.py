"""The Common Expression Language, as Kubernetes configures it."""
