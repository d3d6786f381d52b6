"""The spec of a CRD in the internal version of upstream.

Members that all versions share move to the top. For this reason, errors of a CRD with one version
name `spec.validation` and not `spec.versions[0].schema`. Follows
pkg/apis/apiextensions/v1/conversion.go.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from inkube.schemas.objects import Object

_SHARED = ("schema", "subresources", "additionalPrinterColumns", "selectableFields")


@dataclass(frozen=True, slots=True)
class Spec:
    """`spec` is that of the CRD; `shared` has the members moved from `versions`, by name."""

    spec: Object
    versions: Sequence[Object]
    shared: Object

    @property
    def version(self) -> str:
        """`spec.version`, the first version's name."""
        return self.versions[0]["name"] if self.versions else ""


def of(spec: Object) -> Spec:
    """Return the internal view of a v1 spec, which is not changed."""
    versions = spec.get("versions") or []
    if not versions:
        return Spec(spec, [], {})
    first = versions[0]
    shared = [
        key for key in _SHARED if all(other.get(key) == first.get(key) for other in versions[1:])
    ]
    return Spec(
        spec,
        [{k: v for k, v in version.items() if k not in shared} for version in versions],
        {key: first[key] for key in shared if first.get(key) is not None},
    )
