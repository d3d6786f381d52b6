"""Properties of server-side apply, compared with a simple model of the owners of values.

The model has no sets or schemas: a value exists at a path as long as it has an owner, an element as
long as its membership has an owner.
"""

import copy
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inkube.schemas.ownership import apply as rules
from inkube.schemas.ownership import fieldsets, managedfields
from inkube.schemas.ownership.managedfields import Writer
from inkube.schemas.ownership.typed import TypedSchema
from inkube.schemas.status import StatusError

Object = dict[str, Any]
Path = tuple[str, ...]

V1 = "example.com/v1"
INT = {"type": "integer"}
TYPED = TypedSchema(
    {
        "type": "object",
        "properties": {
            "spec": {
                "type": "object",
                "properties": {
                    "a": INT,
                    "b": INT,
                    "items": {
                        "type": "array",
                        "x-kubernetes-list-type": "map",
                        "x-kubernetes-list-map-keys": ["id"],
                        "items": {
                            "type": "object",
                            "properties": {"id": {"type": "string"}, "n": INT, "m": INT},
                        },
                    },
                    "tags": {
                        "type": "array",
                        "x-kubernetes-list-type": "set",
                        "items": {"type": "string"},
                    },
                },
            }
        },
    }
)
BASE: Object = {"items": [{"id": "base", "n": 0}], "tags": ["base"]}

UPDATE = "+"
"""The prefix of a manager that updates; with and without it, a name has two entries."""
_VALUE = st.integers(0, 2)
_ITEM = st.fixed_dictionaries({}, optional={"n": _VALUE, "m": _VALUE})
_SPEC = st.fixed_dictionaries(
    {},
    optional={
        "a": _VALUE,
        "b": _VALUE,
        "items": st.dictionaries(st.sampled_from("xyz"), _ITEM, min_size=1, max_size=3).map(
            lambda items: [{"id": key, **item} for key, item in items.items()]
        ),
        "tags": st.lists(st.sampled_from("pqr"), min_size=1, max_size=3, unique=True),
    },
)
_STEPS = st.lists(
    st.tuples(st.sampled_from(["ann", "bob", "+ann", "+hand"]), _SPEC, st.booleans()), max_size=8
)


def _values(spec: Object) -> dict[Path, Any]:
    """Return every owned value of a spec by its path; elements and members own themselves."""
    found: dict[Path, Any] = {("f:" + k,): spec[k] for k in ("a", "b") if k in spec}
    for item in spec.get("items") or ():
        element = f'k:{{"id":"{item["id"]}"}}'
        found["f:items", element] = None
        found |= {("f:items", element, "f:" + name): value for name, value in item.items()}
    found |= {("f:tags", f'v:"{tag}"'): None for tag in spec.get("tags") or ()}
    return found


@dataclass
class Model:
    """Values by path and the managers that own them."""

    values: dict[Path, Any] = field(default_factory=dict)
    owners: dict[Path, set[str]] = field(default_factory=dict)

    def apply(self, manager: str, config: dict[Path, Any], *, force: bool) -> bool:
        """Apply a configuration; return whether it was possible."""
        contested = {p for p, v in config.items() if p in self.values and self.values[p] != v}
        if not force and any(self.owners[p] - {manager} for p in contested):
            return False
        for path in contested:
            self.owners[path] = set()
        for path in [p for p in self.values if manager in self.owners[p] and p not in config]:
            self.owners[path].discard(manager)
        for path, value in config.items():
            self.values[path] = value
            self.owners.setdefault(path, set()).add(manager)
        self._drop_unowned()
        return True

    def update(self, manager: str, target: dict[Path, Any]) -> None:
        for path in [p for p in self.values if p not in target]:
            self._drop(path)
        for path, value in target.items():
            if path not in self.values or self.values[path] != value:
                self.values[path], self.owners[path] = value, {manager}

    def _drop_unowned(self) -> None:
        for path in [path for path, owners in self.owners.items() if not owners]:
            for below in [p for p in self.values if p[: len(path)] == path]:
                self._drop(below)

    def _drop(self, path: Path) -> None:
        del self.values[path], self.owners[path]


def _run(obj: Object, step: tuple[str, Object, bool]) -> Object:
    manager, spec, force = step
    writer = Writer(manager.removeprefix(UPDATE), V1, time="2024-01-01T00:00:00Z")
    if manager.startswith(UPDATE):
        merged = {**copy.deepcopy(obj), "spec": {**_with_base(spec), "a": 1}}
        managedfields.track_update(obj, merged, typed=TYPED, writer=writer)
        return merged
    patch = {"apiVersion": V1, "kind": "T", "metadata": {"name": "t"}, "spec": {"b": 7, **spec}}
    return rules.apply(obj, patch, typed=TYPED, writer=writer, force=force)


def _with_base(spec: Object) -> Object:
    return {
        "items": [*BASE["items"], *spec.get("items", ())],
        "tags": [*BASE["tags"], *spec.get("tags", ())],
        **{name: spec[name] for name in ("a", "b") if name in spec},
    }


def _start() -> Object:
    patch = {"apiVersion": V1, "kind": "T", "metadata": {"name": "t"}, "spec": BASE}
    made = rules.apply(None, patch, typed=TYPED, writer=Writer("base", V1))
    made["metadata"]["uid"] = "u"
    return made


def _owners(obj: Object) -> dict[Path, set[str]]:
    found: dict[Path, set[str]] = {}
    for entry in obj["metadata"]["managedFields"]:
        for path in fieldsets.paths(entry["fieldsV1"]):
            if path[0] == "f:spec" and path[1:] not in {(), ("f:items",), ("f:tags",)}:
                prefix = UPDATE if entry["operation"] == "Update" else ""
                found.setdefault(path[1:], set()).add(prefix + entry["manager"])
    return found


@settings(max_examples=200, deadline=None)
@given(_STEPS)
def test_updates_and_applies_of_three_managers_agree_with_the_model(
    steps: list[tuple[str, Object, bool]],
) -> None:
    obj, model = _start(), Model()
    model.apply("base", _values(BASE), force=False)
    for step in steps:
        manager, spec, force = step
        if manager.startswith(UPDATE):
            model.update(manager, _values({**_with_base(spec), "a": 1}))
            obj = _run(obj, step)
        else:
            accepted = model.apply(manager, _values({"b": 7, **spec}), force=force)
            if not accepted:
                with pytest.raises(StatusError, match="Apply failed with"):
                    _run(obj, step)
                continue
            obj = _run(obj, step)
        assert _values(obj["spec"]) == model.values
        assert _owners(obj) == model.owners


@settings(max_examples=100, deadline=None)
@given(_STEPS, _SPEC)
def test_applying_twice_is_applying_once(
    steps: list[tuple[str, Object, bool]], spec: Object
) -> None:
    obj = _start()
    for manager, before, _ in steps:
        obj = _run(obj, (manager, before, True))
    once = _run(obj, ("ann", spec, True))
    assert _run(once, ("ann", spec, False)) == once


@settings(max_examples=100, deadline=None)
@given(_STEPS, _SPEC)
def test_an_applier_owns_just_what_it_sends(
    steps: list[tuple[str, Object, bool]], spec: Object
) -> None:
    obj = _start()
    for manager, before, _ in steps:
        obj = _run(obj, (manager, before, True))
    owners = _owners(_run(obj, ("ann", spec, True)))
    applied = {path for path, managers in owners.items() if "ann" in managers}
    assert applied == set(_values({"b": 7, **spec}))


@settings(max_examples=100, deadline=None)
@given(_SPEC, _SPEC)
def test_a_merge_holds_all_that_was_applied(first: Object, second: Object) -> None:
    live: Object = {"apiVersion": V1, "spec": _with_base(first)}
    merged = TYPED.merge(live, {"spec": second})
    assert _values(merged["spec"]) == {**_values(live["spec"]), **_values(second)}
    change = TYPED.compare(live, merged)
    assert not change.removed
    assert TYPED.compare(merged, live).removed == change.added
