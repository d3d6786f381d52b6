"""Membership in an enum, with Go's conversions between the value's and the choice's type.

Upstream converts the value to the type of each choice before comparing: 3.7 becomes 3 for the
choice 3, and the integer 65 becomes "A" for a text. Null does not equal any choice, even null.
Follows basicCommonValidator in kube-openapi/pkg/validation/validate/validator.go.
"""

from collections.abc import Sequence
from typing import Any

from inkube.schemas.golang import gotext
from inkube.schemas.objects import same


def is_choice(value: Any, choices: Sequence[Any]) -> bool:
    """Return whether the converted value equals one of the choices."""
    return any(_equals(value, choice) for choice in choices)


def choice_texts(choices: Sequence[Any]) -> list[str]:
    """Return the choices as a NotSupported error lists them."""
    return [
        choice if isinstance(choice, str) else gotext.compact_json(choice) for choice in choices
    ]


def _equals(value: Any, choice: Any) -> bool:
    if value is None or choice is None:
        return False
    kind, choice_kind = type(value), type(choice)
    if kind is choice_kind:
        return same(value, choice)
    if choice_kind is str and kind is int:
        return bool(choice == (chr(value) if 0 <= value < 0xD800 else "�"))
    if choice_kind is int and kind is float:
        return bool(int(value) == choice)
    return choice_kind is float and kind is int and float(value) == choice
