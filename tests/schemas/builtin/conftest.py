"""Built-in objects as the registry makes them, without the registry."""

import pytest

from inkube.schemas.builtin import behaviours, decoding, resources
from inkube.schemas.meta import GVK


class Kinds:
    """Decoded and created objects of built-in kinds, and what is wrong with them."""

    def behaviour_of(self, kind):
        resource = next(r for r in resources.read() if r.kind == kind)
        return behaviours.of(resource.group, resource.plural)

    def decoded(self, kind, obj):
        behaviour = self.behaviour_of(kind)
        gvk = GVK(behaviour.resource.group, behaviour.resource.stored, kind)
        meta = {
            "name": "a",
            "uid": "11111111-2222-3333-4444-555555555555",
            **obj.get("metadata", {}),
        }
        if behaviour.resource.namespaced:
            meta.setdefault("namespace", "ns")
        made = decoding.decode({**obj, "metadata": meta}, gvk).object
        behaviour.default(made)
        return made

    def created(self, kind, obj):
        made = self.decoded(kind, obj)
        self.behaviour_of(kind).prepare_create(made)
        return made

    def texts(self, kind, obj):
        return sorted(
            error.text() for error in self.behaviour_of(kind).validate(self.created(kind, obj))
        )

    def update_texts(self, kind, old, new):
        before, after = self.created(kind, old), self.decoded(kind, new)
        self.behaviour_of(kind).prepare_update(after, before)
        return sorted(e.text() for e in self.behaviour_of(kind).validate_update(after, before))


@pytest.fixture(scope="session")
def kinds():
    """One for all tests: it holds nothing."""
    return Kinds()
