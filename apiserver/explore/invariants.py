"""Own rules: conditions of a user, checked at each change of each object, in each run.

A rule is an expression in CEL about `object` and `oldObject` (null for a new object), as in a
ValidatingAdmissionPolicy, or a function in Python, which also gets all objects of that moment.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from inkube.apiserver.explore import states
from inkube.apiserver.explore.actions import ScenarioError, Strict
from inkube.apiserver.testing import ObjectChange
from inkube.schemas import cel
from inkube.schemas.objects import Object

Key = tuple[str, str, str]
"""Kind with its group (`Deployment.apps`), namespace and name."""
Check = Callable[[Object | None, Object | None, Mapping[Key, Object]], object]
"""A function of an object, of its state before (each None if it does not exist), and of all objects
after the change. It returns True or None, or what is wrong: False, or a text."""
_VARIABLES = {"object": cel.types.DYN, "oldObject": cel.types.DYN}


@dataclass(frozen=True, slots=True)
class Rule:
    """A condition for each change of the objects of a kind (`Pod`, `Deployment.apps`, or "" for
    all)."""

    name: str
    check: Check
    kind: str = ""
    cel: str = ""
    """The expression, if it is one."""

    def document(self) -> Object:
        """Return a rule in CEL as a member of a scenario."""
        kind = {"kind": self.kind} if self.kind else {}
        return {"name": self.name, **kind, "cel": self.cel}


class CelRule(Strict):
    """A rule as a member of a scenario."""

    name: str
    kind: str = ""
    cel: str

    def rule(self, source: str) -> Rule:
        """Return the rule. Raises ScenarioError with the source."""
        try:
            return cel_rule(self.name, self.cel, self.kind)
        except ScenarioError as error:
            raise ScenarioError(f"{source}: {error}") from error


def rule(name: str, check: Check | str, kind: str = "") -> Rule:
    """Return a rule, given as a function or in CEL. Raises ScenarioError for invalid CEL."""
    return cel_rule(name, check, kind) if isinstance(check, str) else Rule(name, check, kind)


def cel_rule(name: str, text: str, kind: str = "") -> Rule:
    """Return a rule in CEL. It is checked for objects that exist. Raises ScenarioError."""
    try:
        program = cel.compile(text, _VARIABLES)
    except cel.CelError as error:
        raise ScenarioError(f"{name}: {error}") from error

    def check(new: Object | None, old: Object | None, objects: Mapping[Key, Object]) -> object:
        if new is None:
            return True
        try:
            return program.evaluate({"object": new, "oldObject": old}) is True
        except cel.EvalError as error:
            return str(error)

    return Rule(name, check, kind, text)


def broken(
    rules: Iterable[Rule], start: Iterable[bytes], changes: Iterable[ObjectChange]
) -> list[str]:
    """Return each broken rule once, with the object and the revision of its first breach.

    `start` are the stored objects before the changes.
    """
    open_rules = list(rules)
    if not open_rules:
        return []
    objects = {key_of(obj): obj for obj in map(orjson.loads, start)}
    found: dict[str, str] = {}
    for change in changes:
        new, old = _moved(objects, change)
        for each in open_rules:
            if each.name not in found and (why := _breach(each, new, old, objects)) is not None:
                found[each.name] = f"{_subject(each, change)}{why}"
    return list(found.values())


def key_of(obj: Object) -> Key:
    """Return the key of an object."""
    meta = obj["metadata"]
    return states.kind_of(obj), meta.get("namespace", ""), meta["name"]


def _moved(objects: dict[Key, Object], change: ObjectChange) -> tuple[Object | None, Object | None]:
    """Make a change. Returns the object after and before it."""
    obj = change.object
    key = key_of(obj)
    old = objects.get(key)
    if change.type == "DELETED":
        objects.pop(key, None)
        return None, old or obj
    objects[key] = obj
    return obj, old


def _breach(
    rule: Rule, new: Object | None, old: Object | None, objects: Mapping[Key, Object]
) -> str | None:
    """Return what is wrong, "" if the rule does not say it, or None."""
    kind = states.kind_of(new or old or {})
    if rule.kind not in ("", kind, kind.split(".")[0]):
        return None
    said: Any = rule.check(new, old, objects)
    if said is None or said is True:
        return None
    return f": {said}" if isinstance(said, str) else ""


def _subject(rule: Rule, change: ObjectChange) -> str:
    kind, namespace, name = key_of(change.object)
    where = f"{namespace}/{name}" if namespace else name
    return f"{rule.name!r} does not hold for {kind} {where} at revision {change.revision}"
