"""The versions of built-in kinds: decoded by their Go types, converted by code.

CustomResourceDefinitions are read by `schemas.crds`, as apiextensions-apiserver does.
"""

from inkube.schemas import bodies, caches, crds
from inkube.schemas.builtin import conversion, decoding, unstructured
from inkube.schemas.definitions import Definition, Version
from inkube.schemas.golang import DecodeError
from inkube.schemas.lazyproperty import cached_property
from inkube.schemas.meta import GVK
from inkube.schemas.objects import Empty, Object
from inkube.schemas.ownership import TypedSchema
from inkube.schemas.served import Served

_DEFINITIONS = "customresourcedefinitions"
_BLANKS: dict[str, Object] = {
    **{key: {"spec": {"replicas": 0}} for key in ("deployments", "replicasets", "statefulsets")},
    "daemonsets": {"metadata": {"annotations": {conversion.TEMPLATE_GENERATION: "0"}}},
}
"""What the zero values of the internal types of apps have in v1, beside the zero values of v1
(pkg/apis/apps/v1/conversion.go and zz_generated.conversion.go)."""


class BuiltinServed(Served):
    """A version of a kind of kube-apiserver."""

    def __init__(self, definition: Definition, version: Version) -> None:
        super().__init__(definition, version)
        self.is_costly = definition.group == "admissionregistration.k8s.io"

    @cached_property
    def empty(self) -> Object:
        return decoding.empty(self.gvk, self.definition.minor)

    @property
    def blank(self) -> Object:
        parts = _BLANKS.get(self.definition.names.plural, {}).items()
        if self.definition.group != "apps" or not parts:
            return self.empty
        made = {part: {**members, **self.empty.get(part, {})} for part, members in parts}
        return {**self.empty, **made}

    @cached_property
    def typed(self) -> TypedSchema:
        schema, minor = self.version.schema, self.definition.minor
        return TypedSchema(schema, custom=False, empty=self.empty, minor=minor)

    def decode(
        self, obj: Object, unknown: list[str] | None, empties: list[Empty] | None = None
    ) -> Object:
        made, paths = self._read(obj, empties)
        if unknown is not None:
            unknown.extend(bodies.unknown_fields(paths))
        return made

    def decode_restored(
        self, obj: Object, unknown: list[str] | None, empties: list[Empty] | None = None
    ) -> Object:
        try:
            made, paths = self._read(obj, empties)
        except DecodeError as error:
            if text := unstructured.trouble(obj, self.gvk):
                raise DecodeError(text) from error
            made, paths = self._read(unstructured.convert_numbers(obj, self.gvk), empties)
        if unknown is not None:
            unknown.extend(bodies.unquoted_unknown_fields(paths))
        return made

    def _read(self, obj: Object, empties: list[Empty] | None) -> tuple[Object, list[str]]:
        """Return a decoded object, and the paths of its unknown fields. Raises DecodeError."""
        meta = obj.get("metadata")
        resets = type(meta) is dict and meta.get("managedFields") == []
        decoded = decoding.decode(obj, self.gvk, self.definition.minor)
        if resets:  # what Go leaves out when it writes has been read all the same
            decoded.object["metadata"]["managedFields"] = []
        for path in self.definition.keeps_empty:
            _keep_empty(obj, decoded.object, path.split("."))
        if empties is not None:
            empties.extend(decoded.empties)
        return decoded.object, decoded.unknown

    def decode_admitted(self, obj: Object, kind: GVK) -> Object:
        obj["apiVersion"] = obj.get("apiVersion") or kind.api_version
        obj["kind"] = obj.get("kind") or kind.kind
        decoding.settle_patched_type(obj, kind, self.definition.minor)
        if kind != self.gvk:
            return decoding.decode(obj, kind, self.definition.minor).object
        return self.decode(obj, None)

    def converted(self, obj: Object) -> Object:
        return conversion.convert(obj, self.api_version)

    def reshape(self, obj: Object, api_version: str) -> Object:
        made = conversion.convert(obj, api_version)
        if made is obj:
            return obj
        # without the empty maps and lists that Go leaves out when it writes the other version
        gvk = GVK.of(api_version, self.gvk.kind)
        return decoding.decode(made, gvk, self.definition.minor).object


class DefinitionServed(BuiltinServed):
    """A version of CustomResourceDefinition."""

    def __init__(self, definition: Definition, version: Version) -> None:
        super().__init__(definition, version)
        self.is_costly = True

    def _read(self, obj: Object, empties: list[Empty] | None) -> tuple[Object, list[str]]:
        return crds.decode(obj, empties)


@caches.of_values(2048)
def of(definition: Definition, version: Version) -> BuiltinServed:
    """Return a shared object for all servers of the process: tests start many, and compile once."""
    make = DefinitionServed if definition.names.plural == _DEFINITIONS else BuiltinServed
    return make(definition, version)


def _keep_empty(sent: Object, decoded: Object, path: list[str]) -> None:
    """Add an empty list of the sent object to a decoded object, because decoding omits it."""
    for member in path[:-1]:
        inner, target = sent.get(member), decoded.get(member)
        if not isinstance(inner, dict) or not isinstance(target, dict):
            return
        sent, decoded = inner, target
    if sent.get(path[-1]) == []:
        decoded[path[-1]] = []
