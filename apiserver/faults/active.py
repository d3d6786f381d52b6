"""The faults of one server, which follow its store and are applied to requests.

A Fault is active before the response to its write. Without faults, `rules` is None, and a request
checks nothing else.
"""

from collections.abc import Awaitable, Callable, Sequence
from operator import attrgetter

from inkube.apiserver.faults import rules
from inkube.apiserver.faults.injections import Injection
from inkube.apiserver.http import RequestInfo
from inkube.apiserver.registry import Resources, User, keys
from inkube.schemas.definitions import Names
from inkube.schemas.objects import Object
from inkube.storage import Change, Store

GROUP, PLURAL = "world.inkube.dev", "faults"
_PREFIX = keys.prefix(PLURAL, GROUP)


class Faults:
    """Applies the stored faults to requests, and calls listeners when one matches."""

    def __init__(self, store: Store, resources: Resources) -> None:
        self._store = store
        self._resources = resources
        self._listeners: list[Callable[[str], None]] = []
        self.rules: rules.Rules | None = None
        if store.count(_PREFIX):
            self._read()
        self._subscription = store.follow(_PREFIX, self._on_changes, on_relist=self._read)

    def close(self) -> None:
        """Stop following the store, and let held requests continue."""
        self._subscription.close()
        for rule in self.rules.rules if self.rules is not None else ():
            rule.gate.open()

    async def injection_for(
        self,
        info: RequestInfo,
        user: User,
        agent: str,
        metadata: Callable[[], Awaitable[Object | None]],
    ) -> Injection | None:
        """Return the effect of the faults on a request. The `metadata` of its object are read only
        if a fault needs them."""
        if self.rules is None or (info.resource == PLURAL and info.group == GROUP):
            return None
        verb = "watch" if info.verb == "watchone" else info.verb
        asked = rules.RequestFacts(
            verb,
            info.group,
            info.resource,
            info.subresource,
            info.namespace,
            info.name,
            user.name,
            user.groups,
            agent,
            "" if info.is_resource else info.path,
        )
        concerning = self.rules.candidates(asked)
        if not concerning:
            return None
        found = None
        if any(rule.needs_metadata(asked) for rule in concerning):
            found = await metadata()
        if found is not None and not asked.name:
            asked = asked._replace(name=found.get("name") or "")
        return rules.combined_injection(concerning, asked, _labels(found), self._notify)

    def injection_for_client(self, facts: rules.RequestFacts) -> Injection | None:
        """Return the effect of the faults on a request of the server's own controllers; faults that
        match labels are ignored."""
        if self.rules is None or (facts.resource == PLURAL and facts.group == GROUP):
            return None
        return rules.combined_injection(self.rules.candidates(facts), facts, None, self._notify)

    def counted(self, name: str) -> tuple[int, int, int] | None:
        for rule in self.rules.rules if self.rules is not None else ():
            if rule.name == name:
                return rule.matched, rule.injected, rule.gate.waiting
        return None

    def unserved(self, name: str) -> list[str]:
        """Return the resources of a fault under whose names nothing is served now."""
        rules_ = self.rules.rules if self.rules is not None else ()
        wanted = next((rule.resources for rule in rules_ if rule.name == name), ())
        return [text for text in wanted if "*" not in text and self._resources.named(text) is None]

    def listen(self, listener: Callable[[str], None]) -> Callable[[], None]:
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def _names(self, group: str, plural: str) -> Names | None:
        resource = self._resources.get(group, plural)
        return None if resource is None else resource.definition.names

    def _notify(self, name: str) -> None:
        for heard in self._listeners:
            heard(name)

    def _on_changes(self, changes: Sequence[Change]) -> None:
        self._read()

    def _read(self) -> None:
        """Compile the stored faults. Unchanged faults keep their counts."""
        before = () if self.rules is None else self.rules.rules
        known = {rule.version: rule for rule in before}
        found = []
        for entry in sorted(self._store.list(_PREFIX), key=attrgetter("created")):
            version = rules.version_of(entry.value)
            if version in known:
                found.append(known.pop(version))
            else:
                found.append(rules.Rule(entry.value, self._notify))
        for gone in known.values():
            gone.gate.open()
        if [*before] != found:  # changes of their status alone have no effect
            self.rules = rules.Rules(found, self._names) if found else None


def _labels(metadata: Object | None) -> dict[str, str] | None:
    labels = None if metadata is None else metadata.get("labels") or {}
    return labels if isinstance(labels, dict) else None
