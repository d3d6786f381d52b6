"""How documents describe a kind, which depends on where it comes from: one voice per sort.

What `apiserver.registry.voices` is to answers this is to documents: nobody else in this room asks
what sort of kind it is.
"""

from collections.abc import Iterator

from inkube.schemas.builtin import resources
from inkube.schemas.definitions import Definition, Origin
from inkube.schemas.gotypes import table
from inkube.schemas.meta import GVK
from inkube.schemas.openapi import notation
from inkube.schemas.openapi.notation import Schema, gvk_of

SCALE = "io.k8s.api.autoscaling.v1.Scale"
JSON = "application/json"
MEDIA = (JSON, "application/vnd.kubernetes.protobuf", "application/yaml")
_STREAMED = (
    *MEDIA, "application/json;stream=watch", "application/vnd.kubernetes.protobuf;stream=watch",
)  # fmt: skip

Subresource = tuple[str, tuple[str, Schema], list[str]]
"""Its name, the schema and the kind it answers, its verbs."""


class Voice:
    """Of custom resources and of kinds declared in Python."""

    in_group_documents = False
    """Whether its group, and the versions of it, have paths that describe themselves."""
    tells_watches = False
    """Whether watches have paths of their own and lists are said to watch as well."""
    media: tuple[str, ...] = (JSON, "application/yaml")
    patch_media: tuple[str, ...] = (
        "application/apply-patch+yaml",
        "application/json-patch+json",
        "application/merge-patch+json",
    )

    def list_media(self, definition: Definition) -> tuple[str, ...]:
        """What lists and watches come as."""
        return self.media

    def name_of(self, definition: Definition, version: str) -> str:
        """The name of a kind's schema: `com.example.v1.Widget` for the group example.com."""
        labels = ".".join(reversed(definition.group.split("."))) if definition.group else "core"
        return f"{labels}.{version}.{definition.names.kind}"

    def schemas(self, definition: Definition, version: str) -> dict[str, Schema]:
        """The schemas of the kind and of its list that are in no table, by name."""
        name = self.name_of(definition, version)
        return {
            name: notation.custom(definition, version),
            f"{name}List": notation.list_of(definition, version, name),
        }

    def subresources(self, definition: Definition, version: str) -> Iterator[Subresource]:
        """Each with what it answers."""
        served = definition.version(version)
        own = (self.name_of(definition, version), gvk_of(definition, version))
        verbs = ["get", "patch", "update"]
        if served is not None and served.status:
            yield "status", own, verbs
        if served is not None and served.scale:
            # the operations name the kind itself, as the reference has it
            yield "scale", (SCALE, own[1]), verbs

    def group_word(self, group: str) -> str:
        """The group as operation ids are made of."""
        return group

    def returns_deleted(self, definition: Definition) -> bool:
        """Whether a DELETE is said to answer the object."""
        return False


class _Builtin(Voice):
    """Of the kinds of Kubernetes."""

    in_group_documents = True
    tells_watches = True
    media = MEDIA
    patch_media = (*Voice.patch_media, "application/strategic-merge-patch+json")

    def list_media(self, definition: Definition) -> tuple[str, ...]:
        return _STREAMED if "watch" in definition.verbs else MEDIA

    def name_of(self, definition: Definition, version: str) -> str:
        known = table.table().of(definition.gvk(version))
        return known or super().name_of(definition, version)

    def schemas(self, definition: Definition, version: str) -> dict[str, Schema]:
        return {}

    def subresources(self, definition: Definition, version: str) -> Iterator[Subresource]:
        known = resources.by_name().get((definition.group, definition.names.plural))
        for sub in known.subresources if known else ():
            group = sub.group if sub.version else definition.group
            gvk = {"group": group, "kind": sub.kind, "version": sub.version or version}
            schema = table.table().of(GVK(gvk["group"], gvk["version"], sub.kind)) or ""
            yield sub.name, (schema, gvk), list(sub.verbs)

    def group_word(self, group: str) -> str:
        return group.removesuffix(".k8s.io")

    def returns_deleted(self, definition: Definition) -> bool:
        return definition.returns_deleted


_CUSTOM = Voice()
_VOICES = {Origin.BUILTIN: _Builtin(), Origin.CUSTOM: _CUSTOM, Origin.PYTHON: _CUSTOM}


def of(definition: Definition) -> Voice:
    """How documents speak of that kind."""
    return _VOICES[definition.origin]
