"""Custom kinds of tests; most of them use Boat of example.com."""

import textwrap
from typing import Any


def definition(
    schema: Any,
    kind: str = "Boat",
    *,
    group: str = "example.com",
    scope: str = "Namespaced",
    names: dict[str, Any] | None = None,
    **version: Any,
) -> dict[str, Any]:
    """Return the CRD of a kind with one version. `version` contains its other members, such as
    subresources. The plural name is the kind with an s, unless `names` has another."""
    names = {"plural": f"{kind.lower()}s", "kind": kind, **(names or {})}
    version = {"name": "v1", "served": True, "storage": True, **version}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{names['plural']}.{group}"},
        "spec": {
            "group": group,
            "scope": scope,
            "names": names,
            "versions": [{**version, "schema": {"openAPIV3Schema": schema}}],
        },
    }


def text(schema: str, kind: str = "Boat", group: str = "example.com") -> str:
    """Return the CRD of a kind as users write it in a file: the YAML of its schema begins in line
    14."""
    plural = f"{kind.lower()}s"
    return f"""\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {{name: {plural}.{group}}}
spec:
  group: {group}
  scope: Namespaced
  names: {{plural: {plural}, kind: {kind}}}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
{textwrap.indent(schema.strip(), " " * 8)}
"""
