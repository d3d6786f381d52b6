"""The RBAC authorizer: it reads the stored roles and bindings from memory.

Bindings are indexed by subject and namespace, and indexed again after one of them changed. Follows
plugin/pkg/auth/authorizer/rbac/rbac.go and pkg/registry/rbac/validation/rule.go.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from inkube.apiserver.auth.attributes import MASTERS, Attributes, Decision
from inkube.apiserver.auth.authorizer import HeldRules, aggregate
from inkube.apiserver.auth.rules import PreparedRule, Rule
from inkube.apiserver.registry import User, keys
from inkube.schemas import status
from inkube.schemas.golang import quote
from inkube.schemas.objects import Object
from inkube.storage import BaseStore, Entry

GROUP = "rbac.authorization.k8s.io"
_CLUSTER_ROLE_BINDINGS = keys.prefix("clusterrolebindings")
_ROLE_BINDINGS = keys.prefix("rolebindings")
_MAX_ROLES = 4096  # roles whose rules are prepared; others are prepared again
_MAX_NAMESPACES = 4096  # indexes in memory; others are created again when they are needed


class Grant(NamedTuple):
    """One subject of one binding."""

    binding: Object
    reference: Object
    """The roleRef of the binding."""
    subject: Object

    @property
    def namespace(self) -> str:
        """The binding's namespace, or "" for the whole cluster."""
        return str(self.binding["metadata"].get("namespace", ""))

    def __str__(self) -> str:
        kind, name = self.reference["kind"], quote(self.reference["name"])
        meta, namespace = self.binding["metadata"], self.namespace
        binding = quote(f"{meta['name']}/{namespace}" if namespace else meta["name"])
        binding_kind = "RoleBinding" if namespace else "ClusterRoleBinding"
        return f"{binding_kind} {binding} of {kind} {name} to {self._subject_text()}"

    def _subject_text(self) -> str:
        name = self.subject["name"]
        if self.subject["kind"] == "ServiceAccount":
            name = f"{name}/{self.subject.get('namespace') or self.namespace}"
        return f"{self.subject['kind']} {quote(name)}"


@dataclass(slots=True)
class _Index:
    """The bindings below one prefix, by subject. Valid while the stored objects are `entries`."""

    revision: int
    entries: Sequence[Entry]
    grants: dict[tuple[str, str], list[Grant]] = field(default_factory=dict)


class RBAC:
    """Authorization by the RBAC objects of one store."""

    def __init__(self, store: BaseStore) -> None:
        self._store = store
        self._indexes: dict[str, _Index] = {}
        self._prepared: dict[str, tuple[bytes, tuple[PreparedRule, ...]]] = {}
        """Stored bytes and rules of roles, by key."""

    def decide(self, attributes: Attributes) -> Decision:
        """Return the decision of the first rule that allows the action. `reason` names the binding,
        or the errors."""
        if MASTERS in attributes.user.groups:
            return Decision(True)
        failures = []
        for grant in self._grants(attributes.user, attributes.namespace):
            granted, failure = self._prepared_rules(grant)
            if failure:
                failures.append(failure)
            if any(rule.allows(attributes) for rule in granted):
                return Decision(True, f"RBAC: allowed by {grant}")
        return Decision(False, f"RBAC: {aggregate(failures)}" if failures else "")

    def rules_for(self, user: User, namespace: str) -> HeldRules:
        """Return every rule that applies to a user in a namespace, and the errors of roles that
        cannot be read. The rights of system:masters without a binding are no rules. A binding
        counts once, also if several of its subjects are the user (rbac/validation/rule.go)."""
        result, failures = [], []
        bindings = {id(each.binding): each for each in self._grants(user, namespace)}
        for grant in bindings.values():
            granted, failure = self._rules(grant)
            result += granted
            if failure:
                failures.append(failure)
        return HeldRules(result, aggregate(failures))

    def role_rules(self, reference: Object, namespace: str) -> list[Rule] | None:
        """Return the rules of a role, or None if it does not exist."""
        entry = self._role(reference, namespace)
        return None if entry is None else entry.value.get("rules") or []

    def _role(self, reference: Object, namespace: str) -> Entry | None:
        prefix = keys.key("roles", namespace, "")
        if reference.get("kind") == "ClusterRole":
            prefix = keys.prefix("clusterroles")
        return self._store.get(prefix + reference.get("name", ""))

    def _prepared_rules(self, grant: Grant) -> tuple[Sequence[PreparedRule], str]:
        """Return the rules of a role as `_rules`, prepared once for each state of the role."""
        entry = self._role(grant.reference, grant.namespace)
        if entry is None:
            return (), self._rules(grant)[1]
        prepared = self._prepared.get(entry.key)
        if prepared is None or prepared[0] != entry.data:
            if len(self._prepared) >= _MAX_ROLES:
                self._prepared.clear()
            found = tuple(map(PreparedRule, entry.value.get("rules") or ()))
            prepared = self._prepared[entry.key] = (entry.data, found)
        return prepared[1], ""

    def _rules(self, grant: Grant) -> tuple[list[Rule], str]:
        role = self.role_rules(grant.reference, grant.namespace)
        if role is not None:
            return role, ""
        kind = grant.reference["kind"].lower()
        return [], status.not_found(GROUP, kind, grant.reference["name"]).message

    def _grants(self, user: User, namespace: str) -> Iterator[Grant]:
        prefixes = (
            [_CLUSTER_ROLE_BINDINGS, f"{_ROLE_BINDINGS}{namespace}/"]
            if namespace
            else [_CLUSTER_ROLE_BINDINGS]
        )
        keys = [("User", user.name), *(("Group", group) for group in user.groups)]
        for prefix in prefixes:
            grants = self._index(prefix).grants
            for key in keys:
                yield from grants.get(key, ())

    def _index(self, prefix: str) -> _Index:
        cached, revision = self._indexes.get(prefix), self._store.revision
        if cached is not None and cached.revision == revision:
            return cached
        entries = self._store.list(prefix)
        if cached is not None and cached.entries == entries:
            cached.revision = revision
            return cached
        index = _Index(revision, entries)
        for entry in entries:
            for grant, key in _subjects(entry.value):
                index.grants.setdefault(key, []).append(grant)
        if len(self._indexes) >= _MAX_NAMESPACES:
            self._indexes.clear()
        self._indexes[prefix] = index
        return index


def _subjects(binding: Object) -> Iterator[tuple[Grant, tuple[str, str]]]:
    for subject in binding.get("subjects") or ():
        kind, name = subject.get("kind"), subject.get("name", "")
        if kind == "ServiceAccount":
            namespace = subject.get("namespace") or binding["metadata"].get("namespace", "")
            if namespace:
                yield (
                    Grant(binding, binding["roleRef"], subject),
                    ("User", f"system:serviceaccount:{namespace}:{name}"),
                )
        elif kind in ("User", "Group"):
            yield Grant(binding, binding["roleRef"], subject), (kind, name)
