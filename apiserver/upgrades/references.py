"""Versions that objects name: field managers, the last applied configuration, rules of webhooks and
policies, stored versions of definitions."""

import json
from collections.abc import Iterator
from typing import NamedTuple

from inkube.apiserver.upgrades.statements import Code, Statement
from inkube.schemas import offline
from inkube.schemas.meta import GVK
from inkube.schemas.objects import Object
from inkube.schemas.offline import Removal

_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
_KINDS_WITH_RULES = frozenset({
    "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration",
    "MutatingAdmissionPolicy", "ValidatingAdmissionPolicy",
})  # fmt: skip


class Minors(NamedTuple):
    """The minor of the cluster, and the later one."""

    old: int
    new: int

    def end(self, removal: Removal | None) -> bool:
        """Return whether a version ends between the two."""
        return removal is not None and removal.is_between(self.old, self.new)


def statements(title: str, obj: Object, minors: Minors) -> Iterator[Statement]:
    """Yield the statements about versions that one object names."""
    metadata = obj["metadata"]
    for part in metadata.get("managedFields") or ():
        version = str(part.get("apiVersion", ""))
        if minors.end(_removal(version, obj)):
            who = f"the field manager {part.get('manager', '')}"
            yield Statement(Code.REMOVED_VERSION, title, f"{who} writes as {version}")
    applied = str(last_applied(metadata).get("apiVersion", ""))
    if minors.end(_removal(applied, obj)):
        yield Statement(Code.REMOVED_VERSION, title, f"kubectl apply has written it as {applied}")
    if obj.get("kind") in _KINDS_WITH_RULES:
        yield from _rules(title, obj, minors)
    if obj.get("kind") == "CustomResourceDefinition":
        yield from _stored_versions(title, obj)


def _removal(api_version: str, obj: Object) -> Removal | None:
    return offline.removal_of(GVK.of(api_version, str(obj.get("kind", ""))))


def last_applied(metadata: Object) -> Object:
    """Return the object as `kubectl apply` has applied it last: {} if it has not."""
    text = (metadata.get("annotations") or {}).get(_LAST_APPLIED)
    try:
        found = json.loads(text) if isinstance(text, str) else {}
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _rules(title: str, obj: Object, minors: Minors) -> Iterator[Statement]:
    spec = obj.get("spec") or {}
    constraints = spec.get("matchConstraints") or {}
    rules = [rule for hook in obj.get("webhooks") or () for rule in hook.get("rules") or ()]
    for rule in [*rules, *(constraints.get("resourceRules") or ())]:
        for group in rule.get("apiGroups") or ():
            for version in rule.get("apiVersions") or ():
                name = f"{group}/{version}"
                if minors.end(offline.removal_of_version(name)):
                    yield Statement(Code.REMOVED_VERSION, title, f"a rule names {name}")


def _stored_versions(title: str, crd: Object) -> Iterator[Statement]:
    versions = (crd.get("spec") or {}).get("versions") or ()
    served = {each.get("name") for each in versions if each.get("served")}
    for version in (crd.get("status") or {}).get("storedVersions") or ():
        if version not in served:
            why = f"objects can be stored as {version}, which is not served"
            yield Statement(Code.STORED_VERSION, title, why)
