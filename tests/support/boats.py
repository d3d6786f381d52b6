"""The custom kind that most tests use: Boat of example.com."""


def definition(schema, *, scope="Namespaced", names=None, **version):
    """The CRD of boats with one version. `version` contains its other members, such as
    subresources."""
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "boats.example.com"},
        "spec": {
            "group": "example.com",
            "scope": scope,
            "names": {"plural": "boats", "kind": "Boat", **(names or {})},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    **version,
                    "schema": {"openAPIV3Schema": schema},
                }
            ],
        },
    }
