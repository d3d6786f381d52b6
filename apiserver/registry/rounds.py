"""The rounds of mutating admission, and the hooks that each plugin calls in them.

All mutators run once. They run a second time if a hook requests it.
"""

from collections.abc import Hashable

import orjson

from inkube.schemas.objects import Object


class PluginRounds:
    """The hooks that one plugin has called for a write, and those that it calls in round two.

    A hook is a webhook or a policy. Hooks with `reinvocationPolicy: IfNeeded` are called again if
    the object changed after their call, and a policy also if it changed the object itself. The
    second round calls no hook for the first time
    (plugin/webhook/mutating/reinvocationcontext.go, plugin/policy/mutating/reinvocationcontext.go).
    """

    def __init__(self, rounds: "Rounds") -> None:
        self._rounds = rounds
        self._called: set[Hashable] = set()
        self._due: set[Hashable] = set()
        self._output = b""

    @property
    def number(self) -> int:
        """The number of the round: 0, or 1 for calls again."""
        return int(self._rounds.is_reinvocation)

    def start_round(self, obj: Object | None) -> None:
        """Begin the plugin's part of a round. `obj` is the object that it receives."""
        if self._rounds.is_reinvocation and orjson.dumps(obj) != self._output:
            self._require()

    def end(self, obj: Object | None) -> None:
        """End the plugin's part of a round. `obj` is the object that it returns."""
        self._output = orjson.dumps(obj)

    def needs_call(self, hook: Hashable) -> bool:
        """Return whether the plugin calls this hook in this round."""
        return not self._rounds.is_reinvocation or hook in self._due

    def mark_called(self, hook: Hashable) -> None:
        """Note the call of a hook with `reinvocationPolicy: IfNeeded`."""
        self._called.add(hook)

    def mark_changed(self) -> None:
        """Note that a hook changed the object: request a second round for the hooks before it."""
        self._require()
        self._rounds.needs_reinvocation = True

    def _require(self) -> None:
        self._due |= self._called
        self._called.clear()


class Rounds:
    """The rounds of a write's mutation, and the `PluginRounds` of each plugin."""

    def __init__(self) -> None:
        self.is_reinvocation = False
        self.needs_reinvocation = False
        self._plugins: dict[str, PluginRounds] = {}

    def of(self, plugin: str) -> PluginRounds:
        """Return the `PluginRounds` of the plugin with that name."""
        found = self._plugins.get(plugin)
        if found is None:
            found = self._plugins[plugin] = PluginRounds(self)
        return found
