"""Built-in objects as the registry creates them, without the registry."""

import pytest

from inkube.schemas.builtin import decoding, lookup, resources, served
from inkube.schemas.strategy import Context

NOW = "2026-01-01T00:00:00Z"


class Kinds:
    """Decodes and creates objects of built-in kinds, and returns their errors."""

    def strategy_of(self, kind):
        resource = next(r for r in resources.read() if r.kind == kind)
        return lookup.strategy_of(resource.group, resource.plural)

    def context_of(self, kind, subresource=""):
        """Return the context of a write for the kind's strategy."""
        definition = self.strategy_of(kind).definition
        return Context(served.of(definition, definition.storage_version), NOW, subresource)

    def decoded(self, kind, obj):
        strategy = self.strategy_of(kind)
        definition = strategy.definition
        meta = {
            "name": "a",
            "uid": "11111111-2222-3333-4444-555555555555",
            **obj.get("metadata", {}),
        }
        if definition.namespaced:
            meta.setdefault("namespace", "ns")
        made = decoding.decode({**obj, "metadata": meta}, strategy.gvk).object
        strategy.default(made)
        return made

    def created(self, kind, obj):
        made = self.decoded(kind, obj)
        self.strategy_of(kind).prepare_for_create(self.context_of(kind), made)
        return made

    def texts(self, kind, obj):
        found = self.strategy_of(kind).validate(self.context_of(kind), self.created(kind, obj))
        return sorted(error.text() for error in found)

    def update_texts(self, kind, old, new):
        """Return the errors of the kind's own rules for an update; the rules of metadata are the
        same in all kinds."""
        before, after = self.created(kind, old), self.decoded(kind, new)
        self.strategy_of(kind).prepare_for_update(self.context_of(kind), after, before)
        return sorted(e.text() for e in self.strategy_of(kind).check_update(after, before))

    def status_texts(self, kind, obj, status):
        """Return the errors of a write to an object's status."""
        before = self.created(kind, obj)
        after = self.decoded(kind, {**obj, "status": status})
        strategy = self.strategy_of(kind)
        strategy.prepare_for_update(self.context_of(kind, "status"), after, before)
        return [error.text() for error in strategy.check_status(after, before)]


@pytest.fixture(scope="session")
def kinds():
    """One for all tests, because it has no state."""
    return Kinds()
