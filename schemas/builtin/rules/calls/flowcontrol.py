"""Irregular rules of FlowSchemas and PriorityLevelConfigurations."""

import math
from collections.abc import Callable, Sequence

from inkube.schemas import fielderrors
from inkube.schemas.builtin import flowcontrol
from inkube.schemas.builtin.rules.frames import Frame
from inkube.schemas.fielderrors import FieldError
from inkube.schemas.metadata import names
from inkube.schemas.objects import Object
from inkube.schemas.objects import semantically_same as same

_MAX_BITS = 60  # of the hash that selects the queues (shufflesharding.RequiredEntropyBits)
_METHODS = ("ByNamespace", "ByUser")
_VERBS = (
    "create", "delete", "deletecollection", "get", "list", "patch", "proxy", "update", "watch",
)  # fmt: skip
_NAMESPACE = "each member of this list must be '*' or a DNS-1123 label; "


def method(value: str, path: str, _frame: Frame) -> list[FieldError]:
    """Check that the method is known. The error shows the whole object."""
    if value in _METHODS:
        return []
    shown = fielderrors.Verbatim(f'{{"Type":"{value}"}}')
    return [fielderrors.not_supported(path, shown, _METHODS)]


def has_all(member: str, frame: Frame) -> bool:
    """Return whether a list contains `*`."""
    return "*" in (frame.obj.get(member) or ())


def crowds(member: str, frame: Frame) -> bool:
    """Return whether a list contains `*` and other items."""
    return has_all(member, frame) and len(frame.obj[member]) > 1


def known_verbs(value: list[str], path: str, _frame: Frame) -> list[FieldError]:
    """Check that all verbs are known. The error shows the whole list."""
    if set(value) <= set(_VERBS):
        return []
    return [fielderrors.not_supported(path, value, _VERBS)]


def namespace(value: str, path: str, _frame: Frame) -> list[FieldError]:
    """Check that a value is the name of a namespace."""
    return [
        fielderrors.invalid(path, value, _NAMESPACE + why) for why in names.dns1123_label(value)
    ]


_URL_TESTS: Sequence[tuple[Callable[[str], bool], str]] = (
    (lambda url: not url, "must not be empty"),
    (lambda url: not url.startswith("/"), "must start with slash"),
    (lambda url: " " in url, "must not contain white-space"),
    (lambda url: "//" in url, "must not contain double slash"),
    (
        lambda url: "*" in url and (url.count("*") > 1 or not url.endswith("/*")),
        "wildcard can only do suffix matching",
    ),
)


def url_path(value: str, path: str, _frame: Frame) -> list[FieldError]:
    """Check a path or a pattern of paths, and return only the first error
    (ValidateNonResourceURLPath)."""
    why = next((why for is_wrong, why in _URL_TESTS if is_wrong(value)), "")
    return [fielderrors.invalid(path, value, why)] if why else []


def is_misnamed(frame: Frame) -> bool:
    """Return whether a level with the type Exempt has a name other than `exempt`, or the
    reverse."""
    name = (frame.root.obj.get("metadata") or {}).get("name")
    return (name == "exempt") != (frame.obj.get("type") == "Exempt")


def is_altered(plural: str, frame: Frame) -> bool:
    """Return whether a spec differs from that of the mandatory object of the same name. Only
    `exempt` of the level for exempt requests can change."""
    fixed = flowcontrol.specs()[plural][frame.root.obj["metadata"]["name"]]
    given = {**frame.obj, "exempt": fixed["exempt"]} if "exempt" in fixed else frame.obj
    return not same(given, fixed)


def hand(value: Object, path: str, _frame: Frame) -> list[FieldError]:
    """Check that a hand has at most as many queues as exist, and that one hash can select them."""
    queues, size, place = value.get("queues", 0), value.get("handSize", 0), f"{path}.handSize"
    if size > max(queues, 0):
        why = f"should not be greater than queues ({queues})"
        return [fielderrors.invalid(place, size, why)]
    if size > 0 and math.ceil(math.log2(queues) * size) > _MAX_BITS:
        why = (
            f"required entropy bits of deckSize {queues} and handSize {size} should not be "
            f"greater than {_MAX_BITS}"
        )
        return [fielderrors.invalid(place, size, why)]
    return []
