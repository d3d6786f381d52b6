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
    """A kind: the path of its list in the stored version, the prefix of its keys, and the names
    that select it, in lower case."""

    address: Address
    prefix: str
    names: frozenset[str]


def of_kubernetes(selected: Sequence[str]) -> Iterator[Kind]:
    """Yield the built-in kinds with these names. Without names, yield all that are captured by
    default."""
    for definition in builtin.definitions():
        name = definition.group, definition.names.plural
        if "watch" not in definition.verbs or name == ("events.k8s.io", "events"):
            continue
        address = Address(name[0], definition.storage_version.name, name[1])
        given = definition.names
        kind = Kind(
            address,
            keys.prefix(address.plural),
            _names(address, given.kind, given.singular, *given.short_names),
        )
        if name in FIRST or _is_wanted(selected, kind):
            yield kind


def of_definitions(crds: Sequence[Object], selected: Sequence[str]) -> Iterator[Kind]:
    """Yield the kinds of CRDs with these names, or all of them without names."""
    for crd in crds:
        spec = crd["spec"]
        names = spec["names"]
        stored = next(each["name"] for each in spec["versions"] if each["storage"])
        address = Address(spec["group"], stored, names["plural"])
        others = names.get("singular") or "", *(names.get("shortNames") or ())
        kind = Kind(
            address,
            keys.prefix(address.plural, address.group),
            _names(address, names["kind"], *others),
        )
        if _is_wanted(selected, kind):
            yield kind


def unknown(selected: Sequence[str], kinds: Sequence[Kind]) -> list[str]:
    """Return the names that select none of the kinds."""
    known = {name for kind in kinds for name in kind.names}
    return [each for each in selected if each.lower() not in known]


def _names(address: Address, *others: str) -> frozenset[str]:
    plural, group = address.plural, address.group
    return frozenset(each.lower() for each in (plural, f"{plural}.{group}", *others) if each)


def _is_wanted(selected: Sequence[str], kind: Kind) -> bool:
    if not selected:
        return (kind.address.group, kind.address.plural) not in LEFT_OUT
    return any(each.lower() in kind.names for each in selected)
