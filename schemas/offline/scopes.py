"""Facts of a kind that a client meets before the object is decoded: verbs, scope, deprecation."""

from collections.abc import Iterator

from inkube.schemas.definitions import Definition, Version
from inkube.schemas.offline.findings import Finding, at
from inkube.schemas.offline.reading import Read


def check(read: Read, definition: Definition, version: Version) -> Iterator[Finding]:
    """Yield what is wrong with sending this kind, in this version, with this namespace."""
    kind = definition.names.kind
    if "create" not in definition.verbs:
        yield at(
            read,
            "not-creatable",
            "the server does not allow this method on the requested resource",
            type="MethodNotAllowed",
            hint=f"a server shows objects of the kind {kind}, but clients cannot create them",
        )
    namespace = read.metadata.get("namespace")
    if namespace and not definition.namespaced:
        yield at(
            read,
            "scope",
            f"{kind} is not namespaced: a server ignores the namespace",
            "metadata.namespace",
            type="Warning",
            severity="warning",
        )
    if version.deprecated and version.deprecation_warning:
        yield at(
            read, "deprecated", version.deprecation_warning, type="Warning", severity="warning"
        )
