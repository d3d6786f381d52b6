"""The kinds of a cluster that are captured: all stored kinds, except those that cause harm in a
copy."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from inkube.apiserver.capture.cluster import Address
from inkube.apiserver.registry import keys
from inkube.schemas import builtin
from inkube.schemas.objects import Object

_ADMISSION = "admissionregistration.k8s.io"
FIRST = (("", "namespaces"), ("apiextensions.k8s.io", "customresourcedefinitions"))
"""Kinds that are always captured, and first, because other objects depend on them."""
WEBHOOKS = ("mutatingwebhookconfigurations", "validatingwebhookconfigurations")
LEFT_OUT: Mapping[tuple[str, str], str] = {
    ("", "secrets"): "they are secret",
    **{(_ADMISSION, plural): "nobody answers them in the copy" for plural in WEBHOOKS},
    ("apiregistration.k8s.io", "apiservices"): "a server registers its own",
}
"""Kinds that are captured only if they are named, each with the reason."""


class Kind(NamedTuple):
    """A kind: the path of its list in the stored version, and the prefix of its keys."""

    address: Address
    prefix: str


def of_kubernetes(selected: Sequence[str]) -> Iterator[Kind]:
    """Yield the built-in kinds with these names. Without names, yield all that are captured by
    default."""
    for definition in builtin.definitions():
        name = definition.group, definition.names.plural
        if "watch" not in definition.verbs or name == ("events.k8s.io", "events"):
            continue
        if name in FIRST or _is_wanted(selected, *name, definition.names.kind):
            address = Address(name[0], definition.storage_version.name, name[1])
            yield Kind(address, keys.prefix(address.plural))


def of_definitions(crds: Sequence[Object], selected: Sequence[str]) -> Iterator[Kind]:
    """Yield the kinds of CRDs with these names, or all of them without names."""
    for crd in crds:
        spec = crd["spec"]
        names = spec["names"]
        stored = next(each["name"] for each in spec["versions"] if each["storage"])
        if _is_wanted(selected, spec["group"], names["plural"], names["kind"]):
            address = Address(spec["group"], stored, names["plural"])
            yield Kind(address, keys.prefix(address.plural, address.group))


def _is_wanted(selected: Sequence[str], group: str, plural: str, kind: str) -> bool:
    if not selected:
        return (group, plural) not in LEFT_OUT
    names = {plural, f"{plural}.{group}", kind.lower()}
    return any(each.lower() in names for each in selected)
