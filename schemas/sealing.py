"""Secret values in requests: `secure.token: {create: …}` of kinds declared in Python.

The registry seals a body as soon as it is decoded: each value becomes a text without meaning, which
`unseal` replaces when the kind takes the values out of the object. Whatever an error, a warning, a
log or an audit event shows of the body in between, it never shows a value. Values in the wrong
place or of a wrong type are emptied, because they may be secret too.
"""

import json
import secrets
from collections.abc import Callable
from typing import Any, Final

from inkube.schemas.fielderrors import SECURE
from inkube.schemas.lastapplied import LAST_APPLIED
from inkube.schemas.objects import Object

REDACTED: Final = "[REDACTED]"
ALL: Final = ""
"""Stands for all secure values of an object."""
_VALUE: Final = "create"
_PUBLIC: Final[dict[str, type]] = {"name": str, "remove": bool}
"""The members of a secure value that are not secret, and their types."""

Replace = Callable[[str], str]
"""Returns the text in place of a secret value."""


def seal(obj: Object, sealed: dict[str, str]) -> None:
    """Seal the values of an object or a merge patch, in place; `sealed` receives them."""
    _conceal(obj, _sealing(sealed))


def seal_json_patch(steps: Any, sealed: dict[str, str]) -> Any:
    """Return the steps of a JSON patch with sealed values."""
    if not isinstance(steps, list):
        return steps
    replace = _sealing(sealed)
    return [_step(step, replace) if isinstance(step, dict) else step for step in steps]


def unseal(obj: Object, sealed: dict[str, str]) -> None:
    """Replace the sealed values of an object with the values themselves, in place."""
    for value in _members(obj):
        if isinstance(value, dict) and isinstance(value.get(_VALUE), str):
            value[_VALUE] = sealed.get(value[_VALUE], value[_VALUE])


def redact(obj: Object) -> None:
    """Replace the values of a body with REDACTED, in place."""
    _conceal(obj, lambda value: REDACTED)


def note_removed(obj: Object, old: Object, patch: Any) -> None:
    """Request the removal of the values that a merge patch sets to null, or that a JSON patch
    removes. The object without them would keep the values, as after a PUT. In place."""
    before, after = old.get(SECURE), obj.get(SECURE)
    if not isinstance(before, dict) or not (after is None or isinstance(after, dict)):
        return
    removals = _removed_by_steps(patch) if isinstance(patch, list) else _nulls(patch)
    gone = [member for member in before if (after or {}).get(member) is None]
    removed = {member: {"remove": True} for member in gone if member in removals or ALL in removals}
    if removed:
        obj[SECURE] = {**(after or {}), **removed}


def _nulls(patch: Any) -> set[str]:
    """Return the secure values that a merge patch sets to null; ALL if it does so with `secure`."""
    if not isinstance(patch, dict) or SECURE not in patch:
        return set()
    secure = patch[SECURE]
    if not isinstance(secure, dict):
        return {ALL} if secure is None else set()
    return {member for member, value in secure.items() if value is None}


def _removed_by_steps(steps: list[Any]) -> set[str]:
    """Return the secure values that a JSON patch removes; ALL if it removes `secure`."""
    paths = [
        str(step.get("path")).split("/")[1:]
        for step in steps
        if isinstance(step, dict) and step.get("op") == "remove"
    ]
    return {path[1] if path[1:] else ALL for path in paths if path[:1] == [SECURE]}


def forget_last_applied(obj: Object) -> None:
    """Remove the values from the manifest that `kubectl apply` stores in an annotation."""
    metadata = obj.get("metadata")
    if isinstance(metadata, dict) and isinstance(metadata.get("annotations"), dict):
        obj["metadata"] = {**metadata, "annotations": _annotations(metadata["annotations"])}


def emptied(value: Any) -> Any:
    """Return the empty value of the same type."""
    return None if value is None else type(value)()


def _without_values(text: str) -> str | None:
    """Return the manifest without secret values; None if it cannot be read."""
    if f'"{SECURE}"' not in text:
        return text
    try:
        applied = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(applied, dict) or SECURE not in applied:
        return text
    applied[SECURE] = _emptied_members(applied[SECURE])
    return json.dumps(applied, separators=(",", ":")) + "\n"


def _sealing(sealed: dict[str, str]) -> Replace:
    def replace(value: str) -> str:
        text = f"sealed-{secrets.token_hex(8)}"
        sealed[text] = value
        return text

    return replace


def _members(obj: Object) -> list[Any]:
    secure = obj.get(SECURE)
    return list(secure.values()) if isinstance(secure, dict) else []


def _conceal(obj: Object, replace: Replace) -> None:
    if SECURE in obj:
        obj[SECURE] = _secure(obj[SECURE], replace)
    forget_last_applied(obj)


def _annotations(annotations: Any) -> Any:
    """Return annotations without the values in the manifest that kubectl stores there."""
    if not isinstance(annotations, dict) or not isinstance(annotations.get(LAST_APPLIED), str):
        return annotations
    text = _without_values(annotations[LAST_APPLIED])
    kept = {name: value for name, value in annotations.items() if name != LAST_APPLIED}
    return kept if text is None else {**kept, LAST_APPLIED: text}


def _secure(secure: Any, replace: Replace) -> Any:
    if not isinstance(secure, dict):
        return emptied(secure)
    return {member: _member(value, replace) for member, value in secure.items()}


def _member(value: Any, replace: Replace) -> Any:
    if not isinstance(value, dict):
        return emptied(value)
    return {name: _leaf(name, leaf, replace) for name, leaf in value.items()}


def _leaf(name: str, leaf: Any, replace: Replace) -> Any:
    if name == _VALUE and isinstance(leaf, str) and leaf:
        return replace(leaf)
    return leaf if _is_public(name, leaf) else emptied(leaf)


def _is_public(name: str, leaf: Any) -> bool:
    return isinstance(leaf, _PUBLIC.get(name, ()))


def _emptied_members(secure: Any) -> Any:
    """Return the members of a manifest without their values."""
    if not isinstance(secure, dict):
        return emptied(secure)
    return {
        member: {name: leaf for name, leaf in value.items() if _is_public(name, leaf)}
        if isinstance(value, dict)
        else emptied(value)
        for member, value in secure.items()
    }


def _step(step: Object, replace: Replace) -> Object:
    path, value = step.get("path"), step.get("value")
    if "value" not in step or not isinstance(path, str):
        return step
    parts = [part.replace("~1", "/").replace("~0", "~") for part in path.split("/")[1:]]
    match parts:
        case []:
            if not isinstance(value, dict):
                return step
            value = dict(value)
            _conceal(value, replace)
        case ["secure"]:
            value = _secure(value, replace)
        case ["secure", _]:
            value = _member(value, replace)
        case ["secure", _, name]:
            value = _leaf(name, value, replace)
        case ["secure", *_]:
            value = emptied(value)
        case ["metadata"] if isinstance(value, dict):
            annotations = _annotations(value.get("annotations"))
            value = {**value, "annotations": annotations} if "annotations" in value else value
        case ["metadata", "annotations"]:
            value = _annotations(value)
        case ["metadata", "annotations", name] if name == LAST_APPLIED:
            value = _without_values(value) or "{}" if isinstance(value, str) else value
        case _:
            return step
    return {**step, "value": value}
