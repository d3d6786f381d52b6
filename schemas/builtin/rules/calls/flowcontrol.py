"""What is irregular in flow schemas and priority levels."""

import math
from collections.abc import Callable, Sequence

from inkube.schemas import fielderrors
from inkube.schemas.builtin.rules.frames import Frame
from inkube.schemas.fielderrors import FieldError
from inkube.schemas.metadata import names
from inkube.schemas.objects import Object

_MAX_BITS = 60  # of the hash that deals a hand of queues (shufflesharding.RequiredEntropyBits)
_METHODS = ("ByNamespace", "ByUser")
_VERBS = (
    "create", "delete", "deletecollection", "get", "list", "patch", "proxy", "update", "watch",
)  # fmt: skip
_NAMESPACE = "each member of this list must be '*' or a DNS-1123 label; "


def method(value: str, path: str, _frame: Frame) -> list[FieldError]:
    """A known one; the whole method is shown."""
    if value in _METHODS:
        return []
    shown = fielderrors.Verbatim(f'{{"Type":"{value}"}}')
    return [fielderrors.not_supported(path, shown, _METHODS)]


def has_all(member: str, frame: Frame) -> bool:
    """Whether a list has the word for everything."""
    return "*" in (frame.obj.get(member) or ())


def crowds(member: str, frame: Frame) -> bool:
    """Whether something stands beside the word for everything."""
    return has_all(member, frame) and len(frame.obj[member]) > 1


def known_verbs(value: list[str], path: str, _frame: Frame) -> list[FieldError]:
    """Only known ones; the whole list is shown."""
    if set(value) <= set(_VERBS):
        return []
    return [fielderrors.not_supported(path, value, _VERBS)]


def namespace(value: str, path: str, _frame: Frame) -> list[FieldError]:
    """The name of one."""
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
    """ValidateNonResourceURLPath: the first problem counts."""
    why = next((why for is_wrong, why in _URL_TESTS if is_wrong(value)), "")
    return [fielderrors.invalid(path, value, why)] if why else []


def is_misnamed(frame: Frame) -> bool:
    """Whether the level for exempt requests has another name, or another level has its name."""
    name = (frame.root.obj.get("metadata") or {}).get("name")
    return (name == "exempt") != (frame.obj.get("type") == "Exempt")


def hand(value: Object, path: str, _frame: Frame) -> list[FieldError]:
    """No more queues in a hand than there are, and few enough to be dealt by one hash."""
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
